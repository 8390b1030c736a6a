#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "simulator/run/run.h"

namespace ckptsim::simulator {

// OUTPUT/NAME-UTC/: journal.jsonl, and at the end result.json and checkpoints.csv. All that is written is
// durable when the call returns, whatever the run's own fsync setting says.
class ResultFolder final : public Journal {
 public:
  explicit ResultFolder(std::filesystem::path output) : output_(std::move(output)) {}
  ~ResultFolder() override;

  void begin(const RunResult& run) override;  // makes the folder; the journal appears with its header line
  void checkpoint(const CheckpointResult& checkpoint) override;
  void end(const RunResult& run) override;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }  // empty before begin()

 private:
  void write_file(const std::string& name, const std::string& text) const;

  std::filesystem::path output_;
  std::filesystem::path path_;
  int journal_ = -1;
  off_t journal_bytes_ = 0;  // whose lines are durable
};

// A row a checkpoint with every figure, for spreadsheets.
[[nodiscard]] std::string checkpoints_csv(const RunResult& run);

}  // namespace ckptsim::simulator
