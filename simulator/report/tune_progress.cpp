#include "simulator/report/tune_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace ckptsim::simulator {

double TuneProgress::seconds_left() const {
  return std::max(0.0, seconds_ - std::chrono::duration<double>(clock_.now() - start_).count());
}

void TuneProgress::begin_run(std::uint64_t /*checkpoints*/, std::uint64_t checkpoint_bytes,
                             std::uint64_t /*loads*/, std::uint64_t /*finished*/, std::uint64_t /*loaded*/) {
  ++checkpoint_;
  checkpoint_bytes_ = checkpoint_bytes;
  shown_ = {};
  written(0);
}

void TuneProgress::written(std::uint64_t bytes) {
  constexpr std::chrono::milliseconds kBetween{200};
  if (style_ != ProgressStyle::kLine || clock_.now() - shown_ < kBetween) return;
  shown_ = clock_.now();
  fmt::print(stream_, "\rtune, checkpoint {}: {:.2f} of {:.2f} GB, {} left\x1b[K", checkpoint_,
             static_cast<double>(bytes) / 1e9, static_cast<double>(checkpoint_bytes_) / 1e9,
             clock_text(seconds_left()));
  std::fflush(stream_);
}

void TuneProgress::end_checkpoint() {
  if (style_ != ProgressStyle::kPlain) return;
  fmt::print(stream_, "ckptsim: tune, checkpoint {} done, {} left\n", checkpoint_,
             clock_text(seconds_left()));
  std::fflush(stream_);
}

void TuneProgress::end_run() {
  if (style_ != ProgressStyle::kLine) return;
  fmt::print(stream_, "\r\x1b[K");
  std::fflush(stream_);
}

}  // namespace ckptsim::simulator
