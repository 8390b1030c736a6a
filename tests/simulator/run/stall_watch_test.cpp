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

storage::Request fsync_of(int file) {
  storage::Request request;
  request.kind = storage::Request::Kind::kSync;
  request.file = file;
  return request;
}

TEST(StallWatch, FindsACallThatDoesNotReturnAndNoneThatIsMade) {
  VirtualClock clock;
  StallWatch watch(seconds(2), clock, 1);
  storage::TargetActivity activity;
  EXPECT_FALSE(watch.stalled_call(0, activity).has_value());
  pass(clock, watch, seconds(3));
  EXPECT_FALSE(watch.stalled_call(0, activity).has_value()) << "busy with its own work";
  activity.begin_submit(fsync_of(1), clock.now());
  EXPECT_FALSE(watch.stalled_call(0, activity).has_value());
  pass(clock, watch, seconds(2));
  const auto waiting = watch.stalled_call(0, activity);
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(waiting->kind, storage::Request::Kind::kSync);
  activity.end_call();
  EXPECT_FALSE(watch.stalled_call(0, activity).has_value()) << "it has returned after all";
}

}  // namespace
}  // namespace ckptsim::simulator
