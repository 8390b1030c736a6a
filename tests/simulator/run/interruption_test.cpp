#include "simulator/run/interruption.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace ckptsim::simulator {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

TEST(Interruption, TheFirstSignalIsTheOneThatCounts) {
  Interruption interruption;
  EXPECT_FALSE(interruption.asked());
  EXPECT_FALSE(interruption.failure().has_value());
  interruption.ask(SIGTERM);
  interruption.ask(SIGINT);
  EXPECT_TRUE(interruption.asked());
  ASSERT_TRUE(interruption.failure().has_value());
  EXPECT_EQ(interruption.failure()->code, ExitCode::kInterrupted);
  EXPECT_EQ(interruption.failure()->message, "interrupted by SIGTERM");
}

TEST(Interruption, WhoWaitsIsWokenAtOnceOrNeverAsked) {
  Interruption interruption;
  EXPECT_FALSE(interruption.wait_for(nanoseconds(0)));
  std::jthread other([&] { interruption.ask(SIGINT); });
  EXPECT_TRUE(interruption.wait_for(hours(1)));
  EXPECT_TRUE(interruption.wait_for(hours(1))) << "and stays so";
}

TEST(Interruption, AWaitEndsWithTheThreadThatWaits) {
  Interruption interruption;
  bool asked = true;
  {
    std::jthread waiting([&](const std::stop_token& stop) { asked = interruption.wait(stop); });
  }
  EXPECT_FALSE(asked);
}

TEST(Interruption, IsAgreedOnAsAFailureOfAllProcesses) {
  const auto alone = make_serial_communicator();
  Interruption interruption;
  stop_where_asked(*alone, interruption);
  interruption.ask(SIGHUP);
  try {
    stop_where_asked(*alone, interruption);
    FAIL() << "nobody stopped";
  } catch (const RunFailure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kInterrupted);
    EXPECT_STREQ(failure.what(), "interrupted by SIGHUP");
  }
}

}  // namespace
}  // namespace ckptsim::simulator
