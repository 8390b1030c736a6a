#pragma once

#include <cstdint>
#include <vector>

namespace ckptsim::simulator {

// Completion latencies in bounded memory: exact below 64 ns, then 32 buckets an octave (a quantile is at
// most 3.2 % above the true value, never below it). Minimum and maximum are exact.
class LatencyHistogram {
 public:
  LatencyHistogram();

  void add(std::int64_t latency_ns);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::int64_t maximum_ns() const { return maximum_; }
  // The smallest recorded bound that at least `fraction` of all latencies do not pass; 0 when nothing was
  // added.
  [[nodiscard]] std::int64_t quantile_ns(double fraction) const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::int64_t maximum_ = 0;
};

}  // namespace ckptsim::simulator
