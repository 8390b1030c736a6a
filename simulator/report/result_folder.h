#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>

#include "simulator/report/journal_file.h"
#include "simulator/run/run.h"

namespace ckptsim::simulator {

// OUTPUT/NAME-UTC/: journal.jsonl, and at the end result.json and checkpoints.csv. All that is written is
// durable when the call returns, whatever the run's own fsync setting says. The calls of Journal come from
// one thread, interrupted() from any.
class ResultFolder final : public Journal {
 public:
  explicit ResultFolder(std::filesystem::path output) : output_(std::move(output)) {}

  // Before begin(): takes the folder of an earlier run, which goes on in it, and returns what its journal
  // holds (no plan, no status). Nothing is changed yet. ConfigError where it has no journal;
  // storage::UnsuitableTarget where another process writes it; storage::FormatError for what is no journal.
  [[nodiscard]] RunResult take_up(const std::filesystem::path& folder);

  void begin(const RunResult& run) override;  // makes the folder; the journal appears with its header line
  void removed(const RunResult& run) override;
  void checkpoint(const PassResult& pass) override;
  void load(std::int64_t pass, bool warmup, std::int64_t checkpoint, const LoadResult& load) override;
  void end(const RunResult& run) override;
  // end(), but where result.json says the same already. It is not trusted: whatever else has that name is
  // replaced.
  void end_unless_stored(const RunResult& run);
  [[nodiscard]] std::string place() const override { return path_.string(); }

  // Keeps what is in the journal as an interrupted run's result, `sentence` its failure, unless the run has
  // ended; what end() writes later takes its place. Before begin() nothing is kept, and begin() does it.
  // Whether it wrote anything.
  bool interrupted(const std::string& sentence);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }  // empty before begin()

 private:
  void make_folder(const RunResult& run);
  void write_interrupted(const std::string& sentence);

  std::filesystem::path output_;
  std::filesystem::path path_;
  JournalFile journal_;
  bool taken_up_ = false;
  std::size_t whole_bytes_ = 0;  // of a journal that was taken up

  // Two threads meet here. Neither holds kept_mutex_ over I/O, and only whoever writes result.json holds
  // result_mutex_: a slow journal does not delay an interrupted run's result.
  std::mutex kept_mutex_;
  RunResult kept_;  // what is in the journal
  std::mutex result_mutex_;
  bool begun_ = false;
  bool ended_ = false;
  std::string interruption_;  // the sentence, where it came before begin()
};

// A row a checkpoint with every figure, for spreadsheets.
[[nodiscard]] std::string checkpoints_csv(const RunResult& run);

}  // namespace ckptsim::simulator
