#include "simulator/engine/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ckptsim::simulator {
namespace {

TEST(LatencyHistogram, IsExactBelow64Nanoseconds) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 60; ++i)
    histogram.add(i);
  EXPECT_EQ(histogram.quantile_ns(0.5), 30);
  EXPECT_EQ(histogram.quantile_ns(1.0), 60);
  EXPECT_EQ(histogram.count(), 60U);
}

TEST(LatencyHistogram, AnEmptyOneHasZeros) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.quantile_ns(0.99), 0);
  EXPECT_EQ(histogram.maximum_ns(), 0);
}

TEST(LatencyHistogram, QuantilesAreWithinABucketOfTheTruthAndNeverBelowIt) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latencies(13, 2);
  LatencyHistogram histogram;
  std::vector<std::int64_t> truth;
  for (int i = 0; i < 20000; ++i) {
    const auto latency = static_cast<std::int64_t>(latencies(random));
    histogram.add(latency);
    truth.push_back(latency);
  }
  std::sort(truth.begin(), truth.end());
  for (const double fraction : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto index = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(truth.size()))) - 1;
    const auto exact = static_cast<double>(truth[index]);
    EXPECT_GE(static_cast<double>(histogram.quantile_ns(fraction)), exact) << fraction;
    EXPECT_LE(static_cast<double>(histogram.quantile_ns(fraction)), exact * 1.032 + 1) << fraction;
  }
  EXPECT_EQ(histogram.maximum_ns(), truth.back());
}

TEST(LatencyHistogram, HoldsTheLargestValueThereIs) {
  LatencyHistogram histogram;
  histogram.add(INT64_MAX);
  EXPECT_EQ(histogram.quantile_ns(0.5), INT64_MAX);
}

}  // namespace
}  // namespace ckptsim::simulator
