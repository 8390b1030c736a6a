#include "simulator/run/stall_watch.h"

#include <algorithm>

namespace ckptsim::simulator {

StallWatch::StallWatch(std::chrono::nanoseconds limit, const storage::Clock& clock, std::size_t subjects)
    : limit_(limit), clock_(clock), last_look_(clock.now()), seen_(subjects) {}

void StallWatch::look() {
  constexpr std::chrono::nanoseconds kLongestTick = std::chrono::seconds(1);
  const storage::Clock::Time now = clock_.now();
  watched_ += std::min(now - last_look_, kLongestTick);
  last_look_ = now;
}

std::chrono::nanoseconds StallWatch::still_for(std::size_t subject, std::uint64_t count) {
  Seen& seen = seen_[subject];
  if (seen.count != count) seen = {count, watched_};
  return watched_ - seen.since;
}

bool StallWatch::stalled(std::size_t subject, std::uint64_t count) {
  const std::chrono::nanoseconds still = still_for(subject, count);
  return limit_.count() > 0 && still >= limit_;
}

std::optional<storage::TargetActivity::Waiting> StallWatch::stalled_call(
    std::size_t subject, const storage::TargetActivity& activity) {
  const std::uint64_t calls = activity.calls();
  if (!stalled(subject, calls) || !storage::TargetActivity::within_call(calls)) return std::nullopt;
  std::optional<storage::TargetActivity::Waiting> waiting = activity.waiting_for();
  if (activity.calls() != calls) return std::nullopt;  // it has just returned
  return waiting;
}

std::chrono::nanoseconds stall_limit(const RunConfig& config) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(config.storage.stall_seconds));
}

}  // namespace ckptsim::simulator
