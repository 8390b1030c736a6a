#include "simulator/report/progress_line.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>

namespace ckptsim::simulator {
namespace {

double to_seconds(storage::Clock::Time time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void ProgressLine::begin_run(std::uint64_t checkpoints, std::uint64_t checkpoint_bytes, std::uint64_t loads,
                             std::uint64_t finished, std::uint64_t loaded) {
  finished_ = finished;
  finished_loads_ = loaded;
  before_ = finished + loaded;
  checkpoints_ = checkpoints;
  loads_ = loads;
  checkpoint_bytes_ = checkpoint_bytes;
  run_start_ = clock_.now();
}

void ProgressLine::begin_removal(std::string_view what) {
  if (style_ == ProgressStyle::kNone) return;
  showing_ = style_ == ProgressStyle::kLine;
  if (showing_) {
    fmt::print(stream_, "\rremoving {}\x1b[K", what);
  } else {
    fmt::print(stream_, "ckptsim: removing {}\n", what);
  }
  std::fflush(stream_);
}

void ProgressLine::begin_checkpoint(std::int64_t pass, bool warmup, std::int64_t checkpoint) {
  loading_ = false;
  begin(fmt::format("{} {}, checkpoint {}", warmup ? "warm-up" : "pass", pass, checkpoint));
}

void ProgressLine::begin_load(std::int64_t pass, bool warmup, std::int64_t checkpoint) {
  loading_ = true;
  begin(fmt::format("{} {}, loading checkpoint {}", warmup ? "warm-up" : "pass", pass, checkpoint));
}

void ProgressLine::begin(std::string label) {
  label_ = std::move(label);
  checkpoint_start_ = clock_.now();
  show(0);
}

void ProgressLine::written(std::uint64_t bytes) {
  constexpr std::chrono::milliseconds kBetween{200};
  if (clock_.now() - shown_ >= kBetween) show(bytes);
}

void ProgressLine::show(std::uint64_t bytes) {
  if (style_ != ProgressStyle::kLine) return;
  showing_ = true;
  shown_ = clock_.now();
  const double took = to_seconds(shown_ - checkpoint_start_);
  const double rate = took > 0 ? static_cast<double>(bytes) / took / 1e9 : 0;
  // Over everything since the start, the pauses and manifests between checkpoints among it.
  const double done =
      static_cast<double>((finished_ + finished_loads_ - before_) * checkpoint_bytes_ + bytes);
  const double left = static_cast<double>((checkpoints_ + loads_ - before_) * checkpoint_bytes_) - done;
  const double speed = done / std::max(1e-9, to_seconds(shown_ - run_start_));
  const std::string time_left = done > 0 ? clock_text(left / speed) : std::string("-:--");
  fmt::print(stream_, "\r{} ({}/{}): {:.2f} of {:.2f} GB, {:.2f} GB/s, {} left\x1b[K", label_,
             (loading_ ? finished_loads_ : finished_) + 1, loading_ ? loads_ : checkpoints_,
             static_cast<double>(bytes) / 1e9, static_cast<double>(checkpoint_bytes_) / 1e9, rate, time_left);
  std::fflush(stream_);
}

void ProgressLine::end_checkpoint() {
  ++finished_;
  if (style_ != ProgressStyle::kPlain) return;
  fmt::print(stream_, "ckptsim: {} ({}/{}) done, {} since the start\n", label_, finished_, checkpoints_,
             clock_text(to_seconds(clock_.now() - run_start_)));
  std::fflush(stream_);
}

void ProgressLine::end_load() {
  ++finished_loads_;
  if (style_ != ProgressStyle::kPlain) return;
  fmt::print(stream_, "ckptsim: {} ({}/{}) done, {} since the start\n", label_, finished_loads_, loads_,
             clock_text(to_seconds(clock_.now() - run_start_)));
  std::fflush(stream_);
}

void ProgressLine::end_run() {
  clear();
}

void ProgressLine::clear() {
  if (!showing_) return;
  showing_ = false;
  fmt::print(stream_, "\r\x1b[K");
  std::fflush(stream_);
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  const std::int64_t hours = whole / 3600;
  const std::int64_t minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

}  // namespace ckptsim::simulator
