#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ckptsim::simulator {

// When a rank had data I/O in flight, in nanoseconds since its clock started.
struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// A rank's busy intervals, in order, in bounded memory: when `limit` intervals are held, gaps below a growing
// resolution are closed. resolution_ns() says which gaps may be missing (0: none).
class BusyIntervals {
 public:
  explicit BusyIntervals(std::size_t limit = 8192) : limit_(limit) {}

  // Intervals are added in order of their begin.
  void add(Interval interval);

  [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }
  [[nodiscard]] std::int64_t resolution_ns() const { return resolution_ns_; }

 private:
  void coarsen();

  std::size_t limit_;
  std::int64_t resolution_ns_ = 0;
  std::vector<Interval> intervals_;
};

// Time inside [0, duration_ns] that no interval of any list covers.
[[nodiscard]] std::int64_t uncovered_ns(const std::vector<std::vector<Interval>>& lists,
                                        std::int64_t duration_ns);

}  // namespace ckptsim::simulator
