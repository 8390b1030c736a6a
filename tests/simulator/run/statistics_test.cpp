#include "simulator/run/statistics.h"

#include <gtest/gtest.h>

namespace ckptsim::simulator {
namespace {

TEST(Statistics, MeanMedianAndSampleDeviation) {
  EXPECT_DOUBLE_EQ(mean({1, 2, 6}), 3);
  EXPECT_DOUBLE_EQ(median({6, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 10}), 3);
  EXPECT_DOUBLE_EQ(sample_stdev({2, 4, 4, 4, 5, 5, 7, 9}).value_or(0), 2.138089935299395);
}

TEST(Statistics, NothingIsEverNotANumber) {
  EXPECT_EQ(mean({}), 0);
  EXPECT_EQ(median({}), 0);
  EXPECT_FALSE(sample_stdev({}).has_value());
  EXPECT_FALSE(sample_stdev({5}).has_value()) << "one checkpoint has no spread";
  EXPECT_EQ(sample_stdev({5, 5}), 0);
}

}  // namespace
}  // namespace ckptsim::simulator
