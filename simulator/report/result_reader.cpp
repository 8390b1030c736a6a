#include "simulator/report/result_reader.h"

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/errors.h"
#include "simulator/config/resources.h"
#include "simulator/config/schema_check.h"
#include "simulator/report/result_members.h"
#include "simulator/run/position.h"
#include "storage/errors.h"

namespace ckptsim::simulator {
namespace {

using nlohmann::json;

constexpr int kDeepestNesting = 32;  // a result has ten levels; what reads it goes down level by level

[[noreturn]] void refuse(const std::string& origin, const std::string& problem) {
  throw storage::FormatError(fmt::format("{}: {}", origin, problem));
}

json parse(std::string_view text, const std::string& origin) {
  try {
    return json::parse(text, [&](int depth, json::parse_event_t /*event*/, json& /*parsed*/) {
      if (depth > kDeepestNesting)
        refuse(origin, fmt::format("nested more than {} levels deep", kDeepestNesting));
      return true;
    });
  } catch (const json::parse_error& error) {
    refuse(origin, fmt::format("not JSON at byte {}", error.byte));
  } catch (const json::out_of_range&) {
    refuse(origin, "a number is larger than any that a result holds");
  }
}

// Runs a step of reading: whatever is wrong, the sentence begins with the origin.
template <typename Step>
auto within(const std::string& origin, Step step) {
  try {
    return step();
  } catch (const ConfigError& error) {  // the schema's and the configuration's, which name the origin
    throw storage::FormatError(error.what());
  } catch (const storage::FormatError& error) {
    refuse(origin, error.what());
  } catch (
      const json::exception&) {  // figures that are null where the schema allows it and the rest does not
    refuse(origin, "a member has a value that no result of this program has");
  }
}

const json& result_schema() {
  static const json schema = json::parse(find_resource("schema", "result.schema").value());
  return schema;
}

// The schema of an object with some of a result's members.
json schema_of_members(std::initializer_list<const char*> keys) {
  json schema = {{"type", "object"}, {"additionalProperties", false}, {"required", keys}};
  for (const char* key : keys)
    schema["properties"][key] = result_schema().at("properties").at(key);
  schema["definitions"] = result_schema().at("definitions");
  return schema;
}

json schema_of_definition(const char* name) {
  json schema = result_schema().at("definitions").at(name);
  schema["definitions"] = result_schema().at("definitions");
  return schema;
}

void check(const json& schema, const json& document, const std::string& origin) {
  check_against_schema(schema, document, [&origin](const KeyPath&) { return origin; });
}

RunConfig config_of(const json& config, const std::string& origin) {
  return parse_run_config(config.dump(), fmt::format("{}: config", origin), {});
}

// The lines of a journal, one after another.
class JournalReader {
 public:
  JournalReader(JournalContents& contents, const std::string& origin) : run_(contents.run), origin_(origin) {}

  void read_line(std::string_view text) {
    ++number_;
    const std::string here = fmt::format("{}: line {}", origin_, number_);
    json line = parse(text, here);
    within(here, [&] { read(std::move(line), here); });
  }

 private:
  void read(json line, const std::string& here) {
    const std::string type = line.is_object() ? line.value("type", json()).dump() : "";
    if ((type == "\"run\"") != (number_ == 1)) {
      throw storage::FormatError("a journal begins with its one line of type run");
    }
    if (line.is_object()) line.erase("type");
    if (type == "\"run\"") {
      read_header(std::move(line), here);
    } else if (type == "\"removal\"") {
      read_removal(line, here);
    } else if (type == "\"pass\"") {
      read_pass(line, here);
    } else if (type == "\"checkpoint\"") {
      read_checkpoint(line, here);
    } else if (type == "\"load\"") {
      read_load(line, here);
    } else if (type == "\"resume\"") {
      static const json schema = schema_of_definition("resume");
      check(schema, line, here);
      run_.resumes.push_back(resume_of(line));
    } else {
      throw storage::FormatError("a line of a type that this version does not know");
    }
  }

  void read_header(json line, const std::string& here) {
    if (line.value("schema", json()) != "ckptsim.journal/1") {
      throw storage::FormatError("not a journal of the schema ckptsim.journal/1");
    }
    if (!line.value("version", json()).is_string()) throw storage::FormatError("version is missing");
    line.at("version").get_to(run_.version);
    line.erase("schema");
    line.erase("version");
    static const json schema =
        schema_of_members({"started_utc", "command", "config", "effective", "environment"});
    check(schema, line, here);
    line.at("started_utc").get_to(run_.started_utc);
    line.at("command").get_to(run_.command);
    run_.config = config_of(line.at("config"), here);
    run_.effective = effective_of(line.at("effective"));
    run_.environment = environment_of(line.at("environment"));
  }

  void read_removal(const json& line, const std::string& here) {
    static const json schema = [] {
      const json target = {{"type", "object"},
                           {"additionalProperties", false},
                           {"required", {"target", "files_removed", "removal_ns"}},
                           {"properties",
                            {{"target", {{"$ref", "#/definitions/index"}}},
                             {"files_removed", {{"$ref", "#/definitions/count"}}},
                             {"removal_ns", {{"$ref", "#/definitions/nanoseconds"}}}}}};
      return json{{"type", "object"},
                  {"additionalProperties", false},
                  {"required", {"targets"}},
                  {"properties", {{"targets", {{"type", "array"}, {"items", target}}}}},
                  {"definitions", result_schema().at("definitions")}};
    }();
    check(schema, line, here);
    for (const json& entry : line.at("targets")) {
      const auto index = static_cast<std::size_t>(integer_of(entry, "target"));
      if (index >= run_.environment.targets.size()) {
        throw storage::FormatError("a target that the environment does not list");
      }
      run_.environment.targets[index].earlier_files_removed = integer_of(entry, "files_removed");
      run_.environment.targets[index].earlier_removal_ns = integer_of(entry, "removal_ns");
    }
  }

  // Done before the checkpoint that comes next, or was to come: after an interruption it may be done again.
  void read_pass(const json& line, const std::string& here) {
    static const json schema = [] {
      const json pass = schema_of_definition("pass");
      json part = {{"type", "object"},
                   {"additionalProperties", false},
                   {"required", {"pass", "warmup", "delete_ns", "trim_ns"}},
                   {"definitions", pass.at("definitions")}};
      for (const json& key : part.at("required"))
        part["properties"][key.get<std::string>()] = pass.at("properties").at(key.get<std::string>());
      return part;
    }();
    check(schema, line, here);
    begun_ = {.pass = integer_of(line, "pass"),
              .warmup = line.at("warmup").get<bool>(),
              .delete_ns = integer_of(line, "delete_ns"),
              .trim_ns = integer_of(line, "trim_ns")};
  }

  void read_checkpoint(const json& line, const std::string& here) {
    static const json schema = schema_of_definition("checkpoint");
    check(schema, line, here);
    CheckpointResult checkpoint = checkpoint_of(line);
    if (checkpoint.load.has_value()) throw storage::FormatError("a load has a line of its own");
    const Position is{checkpoint.pass, checkpoint.warmup, checkpoint.checkpoint};
    if (finished_ == checkpoints_of(run_.config.checkpoint, run_.effective.checkpoints_per_pass)) {
      throw storage::FormatError("more checkpoints than the run has");
    }
    const Position expected =
        position_of(finished_++, run_.config.checkpoint, run_.effective.checkpoints_per_pass);
    if (is != expected) {
      throw storage::FormatError(
          fmt::format("{} stands where {} belongs", position_words(is), position_words(expected)));
    }
    if (is.checkpoint == 1) {
      const bool known = begun_.pass == is.pass && begun_.warmup == is.warmup;
      run_.passes.push_back(known ? begun_ : PassResult{.pass = is.pass, .warmup = is.warmup});
    }
    run_.passes.back().checkpoints.push_back(std::move(checkpoint));
    summarise_pass(run_.passes.back());
  }

  // Checkpoints are read back in order, and each before the next pass begins.
  void read_load(const json& line, const std::string& here) {
    static const json schema = [] {
      json part = schema_of_definition("checkpoint");
      const json properties = part.at("properties");
      part["required"] = {"pass", "warmup", "checkpoint", "load"};
      part["properties"] = json::object();
      for (const json& key : part.at("required"))
        part["properties"][key.get<std::string>()] = properties.at(key.get<std::string>());
      part["properties"]["load"] = {{"$ref", "#/definitions/load"}};
      return part;
    }();
    check(schema, line, here);
    const Position is{integer_of(line, "pass"), line.at("warmup").get<bool>(),
                      integer_of(line, "checkpoint")};
    if (!run_.passes.empty()) {
      PassResult& pass = run_.passes.back();
      for (CheckpointResult& checkpoint : pass.checkpoints) {
        if (checkpoint.load.has_value()) continue;
        if (is != Position{checkpoint.pass, checkpoint.warmup, checkpoint.checkpoint}) break;
        checkpoint.load = load_of(line.at("load"));
        summarise_pass(pass);
        return;
      }
    }
    throw storage::FormatError(fmt::format("{} is not the one to be read back", position_words(is)));
  }

  RunResult& run_;
  const std::string& origin_;
  std::size_t number_ = 0;
  std::uint64_t finished_ = 0;
  PassResult begun_;
};

}  // namespace

RunResult read_result(const std::string& text, const std::string& origin) {
  const json document = parse(text, origin);
  return within(origin, [&] {
    check(result_schema(), document, origin);
    RunResult run;
    document.at("tool").at("version").get_to(run.version);
    document.at("command").get_to(run.command);
    document.at("started_utc").get_to(run.started_utc);
    document.at("status").get_to(run.status);
    if (document.contains("failure")) document.at("failure").get_to(run.failure);
    run.config = config_of(document.at("config"), origin);
    run.effective = effective_of(document.at("effective"));
    run.environment = environment_of(document.at("environment"));
    run.plan = plan_of(document.at("plan"));
    for (const json& resume : document.at("resumes"))
      run.resumes.push_back(resume_of(resume));
    for (const json& pass : document.at("passes"))
      run.passes.push_back(pass_of(pass));
    return run;
  });
}

JournalContents read_journal(std::string_view text, const std::string& origin) {
  JournalContents contents;
  JournalReader reader(contents, origin);
  while (contents.whole_bytes < text.size()) {
    const std::string_view rest = text.substr(contents.whole_bytes);
    const std::size_t length = rest.find('\n');
    if (length == std::string_view::npos) break;  // torn: a line is durable with its line feed
    const std::string_view line = rest.substr(0, length);
    // A file system that lost power may have the length of a line, and zeros in its place.
    if (length + 1 == rest.size() && line.find('\0') != std::string_view::npos) break;
    reader.read_line(line);
    contents.whole_bytes += length + 1;
  }
  if (contents.whole_bytes == 0) refuse(origin, "no journal: its first line is not there");
  return contents;
}

}  // namespace ckptsim::simulator
