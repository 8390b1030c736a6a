#include "simulator/run/stall_watch.h"

#include <gtest/gtest.h>

#include "tests/simulator/engine/virtual_target.h"

namespace ckptsim::simulator {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::VirtualClock;

void pass(VirtualClock& clock, StallWatch& watch, std::chrono::nanoseconds time) {
  for (std::chrono::nanoseconds done{0}; done < time; done += milliseconds(50)) {
    clock.set(clock.now() + milliseconds(50));
    watch.look();
  }
}

TEST(StallWatch, FindsACountThatStandsStillForTheLimit) {
  VirtualClock clock;
  StallWatch watch(seconds(2), clock, 2);
  EXPECT_FALSE(watch.stalled(0, 7));
  pass(clock, watch, milliseconds(1950));
  EXPECT_FALSE(watch.stalled(0, 7));
  EXPECT_FALSE(watch.stalled(1, 3)) << "each subject has its own time";
  pass(clock, watch, milliseconds(50));
  EXPECT_TRUE(watch.stalled(0, 7));
  EXPECT_FALSE(watch.stalled(1, 3));
  EXPECT_FALSE(watch.stalled(0, 8)) << "it moves again";
  pass(clock, watch, seconds(2));
  EXPECT_TRUE(watch.stalled(0, 8));
}

TEST(StallWatch, CountsNoTimeInWhichNobodyLooked) {
  VirtualClock clock;
  StallWatch watch(seconds(10), clock, 1);
  EXPECT_FALSE(watch.stalled(0, 1));
  for (int stop = 0; stop < 9; ++stop) {
    clock.set(clock.now() + hours(1));  // stopped, or its host was
    watch.look();
    EXPECT_FALSE(watch.stalled(0, 1));
  }
  EXPECT_EQ(watch.still_for(0, 1), seconds(9));
}

TEST(StallWatch, WithoutALimitNothingIsTooLong) {
  VirtualClock clock;
  StallWatch watch(seconds(0), clock, 1);
  EXPECT_FALSE(watch.stalled(0, 1));
  pass(clock, watch, hours(1));
  EXPECT_FALSE(watch.stalled(0, 1));
}

}  // namespace
}  // namespace ckptsim::simulator
