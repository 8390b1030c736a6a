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

TEST(Interruption, UnderALauncherSigtermNeedNotBeAnybodysWish) {
  EXPECT_EQ(interruption_words(SIGTERM, false), "interrupted by SIGTERM");
  EXPECT_EQ(
      interruption_words(SIGTERM, true),
      "interrupted by SIGTERM, which mpirun sends when it is stopped and when one of its processes ends; "
      "its own message says which");
  EXPECT_EQ(interruption_words(SIGINT, true), "interrupted by SIGINT");
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

TEST(Interruption, WorkInStepsIsLeftAtTheNextLook) {
  const auto alone = make_serial_communicator();
  Interruption interruption;
  int steps = 0;
  const auto three_steps = [&](const Look& look) {
    for (int step = 0; step < 3; ++step) {
      look();
      if (++steps == 5) interruption.ask(SIGTERM);
    }
  };
  together_until_asked(*alone, interruption, ExitCode::kInputOutput, three_steps);
  EXPECT_EQ(steps, 3);
  EXPECT_THROW(together_until_asked(*alone, interruption, ExitCode::kInputOutput, three_steps), RunFailure);
  EXPECT_EQ(steps, 5);
}

}  // namespace
}  // namespace ckptsim::simulator
