#include "simulator/run/hang_guard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>

namespace ckptsim::simulator {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

auto threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

[[noreturn]] void work_that_never_returns(milliseconds limit, std::string_view setting) {
  const HangGuard guard(limit, "writing the manifest of checkpoint 2", setting);
  for (;;)
    pause();
}

TEST(HangGuardDeathTest, EndsTheProgramWithASentenceAndAnInputOutputErrorsCode) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      work_that_never_returns(milliseconds(100), kStallSetting), ::testing::ExitedWithCode(4),
      "ckptsim: on .*: no answer for 0.1 s while it was writing the manifest of checkpoint 2 \\(since "
      ".*storage.stall_seconds");
}

TEST(HangGuardDeathTest, SaysWhatSetsTheLimit) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(work_that_never_returns(milliseconds(100), "--stall-seconds"), ::testing::ExitedWithCode(4),
              "or raise --stall-seconds if");
}

TEST(HangGuard, IsGoneWithTheWorkThatWasDoneInTime) {
  const auto before = threads();
  {
    const HangGuard guard(hours(24), "writing the journal");
    EXPECT_EQ(threads(), before + 1);
  }
  EXPECT_EQ(threads(), before) << "at once, not at the end of a limit";
}

TEST(HangGuard, WithoutALimitNobodyWatches) {
  const auto before = threads();
  const HangGuard guard(hours(0), "writing the journal");
  EXPECT_EQ(threads(), before);
}

}  // namespace
}  // namespace ckptsim::simulator
