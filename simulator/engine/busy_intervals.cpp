#include "simulator/engine/busy_intervals.h"

#include <algorithm>

namespace ckptsim::simulator {

void BusyIntervals::add(Interval interval) {
  if (!intervals_.empty() && interval.begin_ns - intervals_.back().end_ns <= resolution_ns_) {
    intervals_.back().end_ns = std::max(intervals_.back().end_ns, interval.end_ns);
    return;
  }
  intervals_.push_back(interval);
  if (intervals_.size() >= limit_) coarsen();
}

void BusyIntervals::coarsen() {
  constexpr std::int64_t kFirstResolutionNs = 1000;
  while (intervals_.size() >= limit_) {
    resolution_ns_ = std::max(kFirstResolutionNs, resolution_ns_ * 2);
    std::vector<Interval> merged{intervals_.front()};
    for (const Interval& interval : intervals_) {
      if (interval.begin_ns - merged.back().end_ns <= resolution_ns_) {
        merged.back().end_ns = std::max(merged.back().end_ns, interval.end_ns);
      } else {
        merged.push_back(interval);
      }
    }
    intervals_ = std::move(merged);
  }
}

std::int64_t uncovered_ns(const std::vector<std::vector<Interval>>& lists, std::int64_t duration_ns) {
  std::vector<Interval> all;
  for (const auto& list : lists)
    all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  std::int64_t covered_until = 0;
  std::int64_t uncovered = 0;
  for (const Interval& interval : all) {
    const std::int64_t begin = std::min(interval.begin_ns, duration_ns);
    uncovered += std::max<std::int64_t>(0, begin - covered_until);
    covered_until = std::max(covered_until, std::min(interval.end_ns, duration_ns));
  }
  return uncovered + std::max<std::int64_t>(0, duration_ns - covered_until);
}

}  // namespace ckptsim::simulator
