#include "simulator/report/result_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>

#include "models/errors.h"
#include "simulator/report/file_calls.h"
#include "simulator/report/load_tables.h"
#include "simulator/report/result_json.h"
#include "simulator/report/result_reader.h"
#include "simulator/report/table.h"
#include "storage/errors.h"
#include "storage/target/marked_directory.h"

namespace ckptsim::simulator {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJournal = "journal.jsonl";

// "NAME-20261130T173937Z", with "-2" and so on where two runs began in the same second.
fs::path make_unique_folder(const fs::path& output, const RunResult& run) {
  std::string stamp;
  for (const char c : run.started_utc) {
    if (c != '-' && c != ':') stamp += c;
  }
  fs::create_directories(output);
  const std::string name = fmt::format("{}-{}", run.config.name, stamp);
  fs::path folder = output / name;
  for (int attempt = 2; !fs::create_directory(folder); ++attempt)
    folder = output / fmt::format("{}-{}", name, attempt);
  return folder;
}

// There it would be foreign to the next run, which would then do nothing.
void refuse_inside_marked(const fs::path& output) {
  if (output.empty()) return;
  const fs::path marked = storage::MarkedDirectory::marked_folder_around(output);
  if (marked.empty()) return;
  throw storage::UnsuitableTarget(
      fmt::format("the result cannot go to \"{}\" inside {}, which is for checkpoints alone; name another "
                  "folder with --output",
                  output.string(), marked.string()));
}

}  // namespace

RunResult ResultFolder::take_up(const fs::path& folder) {
  const fs::path journal = folder / kJournal;
  if (!fs::exists(journal)) {
    throw ConfigError(
        "", fmt::format("--resume {}: there is no {} in it; name the folder that the interrupted run "
                        "made in its --output",
                        folder.string(), kJournal));
  }
  journal_.open(journal);
  const std::string text = journal_.text();
  JournalContents contents = read_journal(text, journal.string());
  path_ = folder;
  taken_up_ = true;
  whole_bytes_ = contents.whole_bytes;
  return std::move(contents.run);
}

void ResultFolder::begin(const RunResult& run) {
  if (taken_up_) {
    journal_.cut(whole_bytes_);
    journal_.append(journal_resume(run.resumes.back()) + "\n");
  } else {
    make_folder(run);
    publish_file(path_, kJournal, journal_header(run) + "\n");
    sync_folder(output_);
    journal_.open(path_ / kJournal);
  }
  {
    const std::scoped_lock lock(kept_mutex_);
    kept_ = run;
  }
  const std::scoped_lock lock(result_mutex_);
  begun_ = true;
  if (!interruption_.empty()) write_interrupted(interruption_);
}

void ResultFolder::make_folder(const RunResult& run) {
  try {
    refuse_inside_marked(output_);
    path_ = make_unique_folder(output_, run);
  } catch (const fs::filesystem_error& error) {
    throw storage::UnsuitableTarget(
        fmt::format("cannot make a folder for the result in \"{}\": {}; name another with "
                    "--output",
                    output_.string(), error.code().message()));
  }
}

void ResultFolder::removed(const RunResult& run) {
  const auto& targets = run.environment.targets;
  const bool anything = std::any_of(targets.begin(), targets.end(), [](const TargetEnvironment& target) {
    return target.earlier_files_removed > 0;
  });
  if (anything) journal_.append(journal_removal(run.environment) + "\n");
  const std::scoped_lock lock(kept_mutex_);
  kept_.environment = run.environment;
}

void ResultFolder::checkpoint(const PassResult& pass) {
  const bool first = pass.checkpoints.size() == 1;
  std::string lines = journal_checkpoint(pass.checkpoints.back()) + "\n";
  if (first && pass.delete_ns > 0) lines = journal_pass(pass) + "\n" + lines;
  journal_.append(lines);
  const std::scoped_lock lock(kept_mutex_);
  if (first) {
    kept_.passes.push_back(pass);
    return;
  }
  kept_.passes.back().checkpoints.push_back(pass.checkpoints.back());
  summarise_pass(kept_.passes.back());
}

void ResultFolder::load(std::int64_t pass, bool warmup, std::int64_t checkpoint, const LoadResult& load) {
  journal_.append(journal_load(pass, warmup, checkpoint, load) + "\n");
  const std::scoped_lock lock(kept_mutex_);
  for (PassResult& kept : kept_.passes) {
    if (kept.pass != pass || kept.warmup != warmup) continue;
    for (CheckpointResult& one : kept.checkpoints) {
      if (one.checkpoint == checkpoint) one.load = load;
    }
    summarise_pass(kept);
  }
}

bool ResultFolder::interrupted(const std::string& sentence) {
  const std::scoped_lock lock(result_mutex_);
  if (ended_) return false;
  interruption_ = sentence;
  if (begun_) write_interrupted(sentence);
  return begun_;
}

// The result first: whoever kills this process soon after the signal shall find it.
void ResultFolder::write_interrupted(const std::string& sentence) {
  RunResult run;
  {
    const std::scoped_lock lock(kept_mutex_);
    run = kept_;
  }
  run.status = "interrupted";
  run.failure = sentence;
  publish_file(path_, "result.json", result_json(run));
  publish_file(path_, "checkpoints.csv", checkpoints_csv(run));
}

void ResultFolder::end(const RunResult& run) {
  const std::scoped_lock lock(result_mutex_);
  ended_ = true;
  publish_file(path_, "checkpoints.csv", checkpoints_csv(run));
  publish_file(path_, "result.json", result_json(run));
}

void ResultFolder::end_unless_stored(const RunResult& run) {
  const fs::path path = path_ / "result.json";
  if (const std::optional<std::string> text = text_of_regular_file(path)) {
    try {
      RunResult stored = read_result(*text, path.string());
      for (PassResult& pass : stored.passes) {
        for (CheckpointResult& checkpoint : pass.checkpoints)
          checkpoint.engine.journal_ns.reset();  // no line of the journal has it of itself
      }
      if (result_json(stored) == result_json(run)) return;
    } catch (const storage::FormatError&) {
      // No result of this program's: it is replaced by one.
    }
  }
  end(run);
}

std::string checkpoints_csv(const RunResult& run) {
  Table table;
  table.columns = {{"pass"},          {"warmup"},     {"checkpoint"},
                   {"redone"},        {"duration_s"}, {"throughput_gb_per_s"},
                   {"payload_bytes"}, {"file_bytes"}, {"straggler_rank"},
                   {"skew"},          {"idle_share"}, {"cpu_wait_share"},
                   {"bound_by"}};
  for (const std::string_view phase : kPhaseNames)
    table.columns.push_back({fmt::format("{}_s", phase)});
  for (const std::string& column : load_columns())
    table.columns.push_back({column});
  for (const PassResult& pass : run.passes) {
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      const SaveResult& save = checkpoint.save;
      std::vector<std::string> row = {
          fmt::format("{}", checkpoint.pass),
          checkpoint.warmup ? "true" : "false",
          fmt::format("{}", checkpoint.checkpoint),
          checkpoint.redone ? "true" : "false",
          fmt::format("{:.9f}", seconds(save.duration_ns)),
          fmt::format("{:.6f}", gb_per_s(save.file_bytes, save.duration_ns)),
          fmt::format("{}", save.payload_bytes),
          fmt::format("{}", save.file_bytes),
          fmt::format("{}", save.straggler_rank),
          fmt::format("{:.6f}", save.skew),
          fmt::format("{:.6f}", save.idle_share),
          save.cpu_wait_share.has_value() ? fmt::format("{:.6f}", *save.cpu_wait_share) : "",
          std::string(bound_name(save.bound))};
      // The phases of the rank that decided the duration: they add up to it.
      for (std::size_t i = 0; i < kPhases; ++i) {
        std::int64_t phase_ns = 0;
        for (const RankSave& rank : save.ranks) {
          if (rank.rank == save.straggler_rank) phase_ns = rank.phase_ns[i];
        }
        row.push_back(fmt::format("{:.9f}", seconds(phase_ns)));
      }
      for (std::string& cell : load_cells(checkpoint.load))
        row.push_back(std::move(cell));
      table.rows.push_back(std::move(row));
    }
  }
  return render(table, TableFormat::kCsv);
}

}  // namespace ckptsim::simulator
