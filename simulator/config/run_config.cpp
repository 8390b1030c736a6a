#include "simulator/config/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "simulator/config/documents.h"
#include "simulator/config/overrides.h"
#include "simulator/config/run_fields.h"
#include "simulator/config/schema_check.h"
#include "simulator/config/schema_tree.h"

namespace ckptsim::simulator {
namespace {

constexpr std::uint64_t kMostBufferBytesPerRank = std::uint64_t{1} << 30U;
constexpr std::uint64_t kBuffersBesidesTheQueue = 2;  // one being filled, one waiting

const KeyPath& model_path() {
  static const KeyPath path = {"model"};
  return path;
}

class Reader {
 public:
  explicit Reader(const Json& object) : object_(&object) {}

  template <typename Fill>
  void section(const char* key, Fill fill) const {
    if (const auto at = object_->find(key); at != object_->end()) {
      fill(Reader(*at));
    }
  }
  template <typename Value>
  void field(const char* key, Value& value) const {
    if (const auto at = object_->find(key); at != object_->end()) {
      at->get_to(value);
    }
  }
  void field(const char* key, std::optional<std::int64_t>& value) const {
    if (const auto at = object_->find(key); at != object_->end() && at->is_number()) {
      value = at->get<std::int64_t>();
    }
  }

 private:
  const Json* object_;
};

// A document under the overrides: knows for each value whether it is the file's or the command line's.
class Assembly {
 public:
  explicit Assembly(Document document) : document_(std::move(document)), model_folder_(document_.folder) {}

  void apply(const std::string& text) {
    Override override = parse_override(run_schema(), text);
    const bool inside_model = is_within(override.path, model_path()) && override.path != model_path();
    if (inside_model) {
      resolve_model();  // one dimension of a named model can be changed
    }
    apply_override(run_schema(), override, document_.value, document_.origin);
    if (override.path == model_path()) {
      model_folder_.clear();  // paths on the command line begin at the working directory
    }
    overridden_.push_back(std::move(override.path));
  }

  // Puts a named model's dimensions in the place of its name.
  void resolve_model() {
    Json& document = document_.value;
    if (!document.is_object() || !document.contains("model") || !document["model"].is_string()) {
      return;
    }
    const Document model = find_document("models", document["model"].get<std::string>(), model_folder_,
                                         {origin_of(model_path()), model_path()});
    check_against_schema(model_schema(), model.value, [&model](const KeyPath&) { return model.origin; });
    document["model"] = model.value;
  }

  // The last to set the value, or an object around it.
  [[nodiscard]] std::string origin_of(const KeyPath& path) const {
    const bool overridden = std::any_of(overridden_.begin(), overridden_.end(),
                                        [&path](const KeyPath& by) { return is_within(path, by); });
    return overridden ? kOverrideOrigin : document_.origin;
  }

  [[nodiscard]] const Json& document() const { return document_.value; }

 private:
  Document document_;
  std::filesystem::path model_folder_;
  std::vector<KeyPath> overridden_;
};

// Two keys that do not go together. Where the command line set either, it is what has to change.
[[noreturn]] void refuse(const Assembly& assembly, const KeyPath& key, const KeyPath& other,
                         const std::string& message) {
  const std::string origin =
      assembly.origin_of(other) == kOverrideOrigin ? kOverrideOrigin : assembly.origin_of(key);
  throw ConfigError(json_pointer(key), fmt::format("{}: {} {}", origin, dotted(key), message));
}

// The validator compares as doubles, so that the schema's maximum of 2^53 lets 2^53 + 1 through.
void check_seed(const RunConfig& config, const Assembly& assembly) {
  const KeyPath path = {"content", "seed"};
  if (config.content_seed > schema_at(run_schema(), path)->at("maximum").get<std::uint64_t>()) {
    refuse_value(run_schema(), path, config.content_seed, assembly.origin_of(path));
  }
}

// What the schema cannot say: keys that are valid only together.
void check_together(const RunConfig& config, const Assembly& assembly) {
  if (config.checkpoint.trim && config.checkpoint.between_passes != "delete") {
    refuse(assembly, {"checkpoint", "trim"}, {"checkpoint", "between_passes"},
           fmt::format("needs checkpoint.between_passes \"delete\", not \"{}\"; change one of the two",
                       config.checkpoint.between_passes));
  }
  const StorageConfig& storage = config.storage;
  if (storage.block_bytes * (storage.queue_depth + kBuffersBesidesTheQueue) > kMostBufferBytesPerRank) {
    refuse(
        assembly, {"storage", "block_bytes"}, {"storage", "queue_depth"},
        fmt::format("x (storage.queue_depth + {}) is the memory of one rank and at most {} bytes, which {} x "
                    "({} + {}) passes; lower one of the two",
                    kBuffersBesidesTheQueue, kMostBufferBytesPerRank, storage.block_bytes,
                    storage.queue_depth, kBuffersBesidesTheQueue));
  }
  // Below this, bfloat16 weights compress more by themselves (storage/content/values.h).
  constexpr double least_with_weights = 0.25;
  const double compressible = config.content_compressible_fraction;
  if (config.content_kind == "weights" && compressible > 0 && compressible < least_with_weights) {
    refuse(
        assembly, {"content", "compressible_fraction"}, {"content", "kind"},
        fmt::format("must be 0 or from {} to 1 with content.kind \"weights\", which compress by up to 22 % "
                    "by themselves, not {}; change one of the two",
                    least_with_weights, compressible));
  }
  if (storage.backend == "null" && !config.checkpoint.checkpoints_per_pass) {
    refuse(assembly, {"checkpoint", "checkpoints_per_pass"}, {"storage", "backend"},
           "must be a number with storage.backend \"null\", which has no capacity to fill, not \"auto\"");
  }
}

void check_load(const RunConfig& config, const Assembly& assembly) {
  const std::string& load = config.checkpoint.load;
  if (load != "none" && config.storage.backend == "null") {
    refuse(
        assembly, {"checkpoint", "load"}, {"storage", "backend"},
        fmt::format("must be \"none\" with storage.backend \"null\", which keeps nothing that could be read "
                    "back, not \"{}\"",
                    load));
  }
  if (load == "none" && config.checkpoint.load_rank_shift) {
    refuse(assembly, {"checkpoint", "load_rank_shift"}, {"checkpoint", "load"},
           "must be false with checkpoint.load \"none\", which reads nothing back; set checkpoint.load to "
           "\"each\" or \"end\", or leave it out");
  }
}

// LibTorch's writer has one way to write a file.
void check_serializer(const StorageConfig& storage, const Assembly& assembly) {
  if (storage.serializer != "libtorch") return;
  if (storage.torch_dialect != "auto" && storage.torch_dialect != kLibtorchDialect) {
    refuse(assembly, {"storage", "torch_dialect"}, {"storage", "serializer"},
           fmt::format(
               "must be \"auto\" or \"{}\" with storage.serializer \"libtorch\", which writes that release's "
               "files alone, not \"{}\"; change it, or use the serializer stream",
               kLibtorchDialect, storage.torch_dialect));
  }
  if (storage.alignment_bytes != kLibtorchAlignmentBytes) {
    refuse(assembly, {"storage", "alignment_bytes"}, {"storage", "serializer"},
           fmt::format(
               "must be {} with storage.serializer \"libtorch\", which knows no other, not {}; change it, or "
               "use the serializer stream",
               kLibtorchAlignmentBytes, storage.alignment_bytes));
  }
}

RunConfig assemble(Document document, const std::vector<std::string>& overrides) {
  Assembly assembly(std::move(document));
  for (const std::string& text : overrides) {
    assembly.apply(text);
  }
  assembly.resolve_model();
  check_against_schema(run_schema(), assembly.document(),
                       [&assembly](const KeyPath& path) { return assembly.origin_of(path); });
  RunConfig config;
  visit_run_fields(Reader(assembly.document()), config);
  check_seed(config, assembly);
  check_together(config, assembly);
  check_load(config, assembly);
  check_serializer(config.storage, assembly);
  return config;
}

}  // namespace

RunConfig load_run_config(const std::string& config, const std::vector<std::string>& overrides) {
  return assemble(find_document("runs", config, {}, {}), overrides);
}

RunConfig parse_run_config(const std::string& text, const std::string& origin,
                           const std::vector<std::string>& overrides) {
  return assemble({parse_json(text, origin), origin, {}}, overrides);
}

}  // namespace ckptsim::simulator
