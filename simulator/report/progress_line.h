#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "simulator/run/progress.h"
#include "storage/clock.h"

namespace ckptsim::simulator {

enum class ProgressStyle { kLine, kPlain, kNone };

// Progress on a stream: one line that is written over (kLine), or a line a checkpoint (kPlain).
class ProgressLine final : public Progress {
 public:
  ProgressLine(ProgressStyle style, std::FILE* stream, const storage::Clock& clock)
      : style_(style), stream_(stream), clock_(clock) {}
  ~ProgressLine() override { clear(); }  // whoever speaks next begins a line of its own
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  [[nodiscard]] bool wanted() const override { return style_ == ProgressStyle::kLine; }
  void begin_run(std::uint64_t checkpoints, std::uint64_t checkpoint_bytes, std::uint64_t loads,
                 std::uint64_t finished, std::uint64_t loaded) override;
  // What a message from another thread begins with, so that it has a line of its own. From any thread.
  [[nodiscard]] const char* line_start() const { return style_ == ProgressStyle::kLine ? "\r\x1b[K" : ""; }

  void begin_removal(std::string_view what) override;
  void begin_checkpoint(std::int64_t pass, bool warmup, std::int64_t checkpoint) override;
  void written(std::uint64_t bytes_of_this_checkpoint) override;
  void end_checkpoint() override;
  void begin_load(std::int64_t pass, bool warmup, std::int64_t checkpoint) override;
  void end_load() override;
  void end_run() override;

 private:
  void begin(std::string label);
  void show(std::uint64_t bytes);
  void clear();

  ProgressStyle style_;
  std::FILE* stream_;
  const storage::Clock& clock_;
  std::uint64_t checkpoints_ = 0;
  std::uint64_t checkpoint_bytes_ = 0;
  std::uint64_t loads_ = 0;
  std::uint64_t before_ = 0;  // written and read by an interrupted run, in checkpoints
  std::uint64_t finished_ = 0;
  std::uint64_t finished_loads_ = 0;
  bool loading_ = false;
  std::string label_;
  storage::Clock::Time run_start_{};
  storage::Clock::Time checkpoint_start_{};
  storage::Clock::Time shown_{};
  bool showing_ = false;
};

// "1:23:45", "4:05".
[[nodiscard]] std::string clock_text(double seconds);

}  // namespace ckptsim::simulator
