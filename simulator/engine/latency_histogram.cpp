#include "simulator/engine/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ckptsim::simulator {
namespace {

constexpr unsigned kExactBits = 6;     // values below 2^6 have a bucket each
constexpr unsigned kFractionBits = 5;  // 2^5 buckets for each octave above
constexpr std::size_t kBuckets =
    (std::size_t{1} << kExactBits) + (63 - kExactBits) * (std::size_t{1} << kFractionBits);

std::size_t bucket_of(std::uint64_t value) {
  const auto octave = static_cast<unsigned>(std::bit_width(value));
  if (octave <= kExactBits) return value;
  const unsigned shift = octave - 1 - kFractionBits;
  const std::uint64_t fraction = (value >> shift) & ((std::uint64_t{1} << kFractionBits) - 1);
  return (std::size_t{1} << kExactBits) + (octave - kExactBits - 1) * (std::size_t{1} << kFractionBits) +
         fraction;
}

std::uint64_t highest_in(std::size_t bucket) {
  if (bucket < (std::size_t{1} << kExactBits)) return bucket;
  const std::size_t above = bucket - (std::size_t{1} << kExactBits);
  const auto octave = static_cast<unsigned>(above >> kFractionBits) + kExactBits + 1;
  const std::uint64_t fraction = above & ((std::size_t{1} << kFractionBits) - 1);
  const unsigned shift = octave - 1 - kFractionBits;
  return (((std::uint64_t{1} << kFractionBits) + fraction + 1) << shift) - 1;
}

}  // namespace

LatencyHistogram::LatencyHistogram() : buckets_(kBuckets) {}

void LatencyHistogram::add(std::int64_t latency_ns) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(latency_ns, 0));
  ++buckets_[bucket_of(value)];
  ++count_;
  maximum_ = std::max(maximum_, latency_ns);
}

std::int64_t LatencyHistogram::quantile_ns(double fraction) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (buckets_[bucket] > 0 && seen >= wanted) {
      return std::min(static_cast<std::int64_t>(highest_in(bucket)), maximum_);
    }
  }
  return maximum_;
}

}  // namespace ckptsim::simulator
