#include "simulator/engine/busy_intervals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace ckptsim::simulator {
namespace {

TEST(BusyIntervals, KeepsEveryGapWhileThereIsRoom) {
  BusyIntervals busy;
  busy.add({0, 10});
  busy.add({11, 20});
  EXPECT_THAT(busy.intervals(), ::testing::ElementsAre(Interval{0, 10}, Interval{11, 20}));
  EXPECT_EQ(busy.resolution_ns(), 0);
}

TEST(BusyIntervals, ClosesTheSmallestGapsFirstAndSaysSo) {
  BusyIntervals busy(4);
  for (std::int64_t i = 0; i < 100; ++i)
    busy.add({i * 10, i * 10 + 9});
  busy.add({1'000'000, 1'000'100});
  EXPECT_LT(busy.intervals().size(), 4U);
  EXPECT_GE(busy.resolution_ns(), 1000);
  EXPECT_THAT(busy.intervals(), ::testing::ElementsAre(Interval{0, 999}, Interval{1'000'000, 1'000'100}));
}

TEST(BusyIntervals, StaysWithinItsLimitWhateverComes) {
  std::mt19937_64 random(3);
  BusyIntervals busy(64);
  std::int64_t time = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t begin = time + static_cast<std::int64_t>(random() % 100'000);
    time = begin + static_cast<std::int64_t>(random() % 1000);
    busy.add({begin, time});
    ASSERT_LT(busy.intervals().size(), 64U);
  }
  EXPECT_EQ(busy.intervals().back().end_ns, time);
}

TEST(UncoveredTime, IsWhatNoRankCovers) {
  EXPECT_EQ(uncovered_ns({{{10, 20}, {30, 40}}, {{15, 35}}}, 50), 20) << "0-10 and 40-50";
  EXPECT_EQ(uncovered_ns({}, 50), 50);
  EXPECT_EQ(uncovered_ns({{{0, 100}}}, 50), 0) << "beyond the duration nothing counts";
  EXPECT_EQ(uncovered_ns({{{60, 70}}}, 50), 50);
}

}  // namespace
}  // namespace ckptsim::simulator
