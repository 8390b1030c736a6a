#include "simulator/run/hang_guard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

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

// Longer than the limits below, one call after another.
void move_on_for_a_second(HangGuard& guard) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::seconds(1)) {
    guard.alive("removing a.pt");
    std::this_thread::yield();
  }
}

[[noreturn]] void work_whose_last_call_never_returns() {
  HangGuard guard(milliseconds(400), "removing an earlier run");
  move_on_for_a_second(guard);
  storage::CallListener::tell("removing", "/drive/b.pt");
  for (;;)
    pause();
}

TEST(HangGuardDeathTest, CountsTheTimeOfASingleCallAndSaysWhichItIs) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(work_whose_last_call_never_returns(), ::testing::ExitedWithCode(4),
              "no answer for 0.4 s while it was removing an earlier run: removing /drive/b.pt \\(since");
}

[[noreturn]] void work_that_is_done_too_late_but_moves_on() {
  {
    HangGuard guard(milliseconds(400), "removing an earlier run");
    move_on_for_a_second(guard);
  }
  std::_Exit(0);
}

TEST(HangGuardDeathTest, LetsWorkThatMovesOnTakeItsTime) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(work_that_is_done_too_late_but_moves_on(), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void work_that_another_process_speaks_of_first() {
  const auto start = std::chrono::steady_clock::now();
  std::thread([start] {
    while (std::chrono::steady_clock::now() - start < milliseconds(600))
      std::this_thread::yield();
    std::_Exit(7);
  }).detach();
  const HangGuard guard(HangLimit{.limit = milliseconds(100), .grace = hours(1)}, "locking /drive");
  for (;;)
    pause();
}

TEST(HangGuardDeathTest, WaitsForItsGrace) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(work_that_another_process_speaks_of_first(), ::testing::ExitedWithCode(7), "^$");
}

TEST(HangLimit, ANeighbourWaitsLongerThanAnyProcessForItsOwnDrive) {
  const auto alone = make_serial_communicator();
  EXPECT_EQ(hang_limit(*alone, hours(1)).limit, hours(1));
  EXPECT_EQ(hang_limit(*alone, hours(1)).grace.count(), 0) << "process 0 speaks first";
  EXPECT_GT(silence_limit(hours(1)), hours(1));
  EXPECT_EQ(silence_limit(hours(0)), hours(0)) << "for ever";
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
