#pragma once

#include <cstdint>
#include <cstdio>

#include "simulator/report/progress_line.h"
#include "simulator/run/progress.h"
#include "storage/clock.h"

namespace ckptsim::simulator {

// Progress of tuning, whose measurements are runs of one checkpoint each, against its time: one line that is
// written over (kLine), or a line a checkpoint (kPlain).
class TuneProgress final : public Progress {
 public:
  TuneProgress(ProgressStyle style, std::FILE* stream, const storage::Clock& clock, double seconds)
      : style_(style), stream_(stream), clock_(clock), start_(clock.now()), seconds_(seconds) {}

  [[nodiscard]] bool wanted() const override { return style_ == ProgressStyle::kLine; }
  void begin_run(std::uint64_t checkpoints, std::uint64_t checkpoint_bytes, std::uint64_t loads,
                 std::uint64_t finished, std::uint64_t loaded) override;
  void written(std::uint64_t bytes_of_this_checkpoint) override;
  void end_checkpoint() override;
  void end_run() override;

 private:
  [[nodiscard]] double seconds_left() const;

  ProgressStyle style_;
  std::FILE* stream_;
  const storage::Clock& clock_;
  storage::Clock::Time start_;
  double seconds_;
  storage::Clock::Time shown_{};
  std::uint64_t checkpoint_ = 0;
  std::uint64_t checkpoint_bytes_ = 0;
};

}  // namespace ckptsim::simulator
