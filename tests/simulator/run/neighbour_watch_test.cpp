#include "simulator/run/neighbour_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "simulator/engine/failure.h"
#include "tests/simulator/engine/virtual_target.h"

namespace ckptsim::simulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using testing::VirtualClock;
using Kind = SideMessage::Kind;

struct Posted {
  int destination;
  SideMessage message;
};

// One process of several, which keeps what it was to send.
class OneOfSeveral final : public Communicator {
 public:
  OneOfSeveral(int process, int processes) : process_(process), processes_(processes) {}
  [[nodiscard]] int process() const override { return process_; }
  [[nodiscard]] int processes() const override { return processes_; }
  void barrier() override {}
  [[nodiscard]] bool any(bool here) override { return here; }
  [[nodiscard]] std::string broadcast(std::string text) override { return text; }
  [[nodiscard]] std::vector<std::string> gather(std::string text, int /*root*/) override { return {text}; }
  [[nodiscard]] std::vector<std::string> all_gather(std::string text) override { return {text}; }
  void post(int destination, const SideMessage& message) override {
    posted.push_back({destination, message});
  }
  [[nodiscard]] std::optional<SideMessage> poll() override { return std::nullopt; }
  [[noreturn]] void abort(int /*exit_code*/) override { throw std::logic_error("not here"); }
  [[nodiscard]] std::string description() const override { return "one of several"; }

  [[nodiscard]] std::vector<int> told(Kind kind) const {
    std::vector<int> destinations;
    for (const Posted& one : posted) {
      if (one.message.kind == kind) destinations.push_back(one.destination);
    }
    return destinations;
  }

  std::vector<Posted> posted;

 private:
  int process_;
  int processes_;
};

class NeighbourWatchTest : public ::testing::Test {
 protected:
  // Ticks of 50 ms; the neighbour gives a sign of life in each where it `answers`.
  void pass(NeighbourWatch& watch, milliseconds time, bool answers) {
    for (milliseconds done{0}; done < time; done += milliseconds(50)) {
      clock_.set(clock_.now() + milliseconds(50));
      if (answers) watch.heard({.kind = Kind::kAlive, .checkpoint = 4});
      watch.look();
    }
  }

  std::string ends_with(NeighbourWatch& watch, milliseconds time) {
    try {
      pass(watch, time, false);
    } catch (const RunFailure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::kInputOutput);
      EXPECT_EQ(failure.leaving(), Leaving::kAbort);
      return failure.what();
    }
    return "";
  }

  VirtualClock clock_;
  std::vector<RankPlace> places_ = {{.rank = 0, .process = 0, .host = "a"},
                                    {.rank = 1, .process = 1, .host = "a"},
                                    {.rank = 2, .process = 2, .host = "b"}};
};

TEST_F(NeighbourWatchTest, TellsTheNextProcessAndTheLastTellsTheFirst) {
  for (int process = 0; process < 3; ++process) {
    OneOfSeveral communicator(process, 3);
    NeighbourWatch watch(communicator, places_, seconds(2), clock_, 4);
    pass(watch, seconds(10), true);
    const std::vector<int> told = communicator.told(Kind::kAlive);
    EXPECT_GE(told.size(), 20U);
    EXPECT_THAT(told, ::testing::Each((process + 1) % 3));
    EXPECT_EQ(communicator.posted.front().message.checkpoint, 4U);
    EXPECT_TRUE(communicator.told(Kind::kSilent).empty());
  }
}

TEST_F(NeighbourWatchTest, TellsProcess0WhoIsSilentAndEndsTheRunItselfWhereThatDoesNothing) {
  OneOfSeveral communicator(2, 3);
  NeighbourWatch watch(communicator, places_, seconds(2), clock_, 4);
  EXPECT_EQ(ends_with(watch, milliseconds(3900)), "");
  EXPECT_EQ(communicator.told(Kind::kSilent), std::vector<int>{0});

  EXPECT_THAT(ends_with(watch, milliseconds(200)), HasSubstr("process 1 (rank 1 on a) has not answered"));
}

TEST_F(NeighbourWatchTest, Process0EndsTheRunWhenItNoticesOrIsTold) {
  OneOfSeveral communicator(0, 3);
  NeighbourWatch watch(communicator, places_, seconds(2), clock_, 4);
  EXPECT_THAT(ends_with(watch, milliseconds(2100)), HasSubstr("process 2 (rank 2 on b)"));
  NeighbourWatch told(communicator, places_, seconds(2), clock_, 4);
  EXPECT_THROW(told.heard({.kind = Kind::kSilent, .checkpoint = 4, .process = 2, .value = 1}), RunFailure);
}

TEST_F(NeighbourWatchTest, WhereProcess0IsSilentWhoeverNoticesEndsTheRun) {
  OneOfSeveral communicator(1, 3);
  NeighbourWatch watch(communicator, places_, seconds(2), clock_, 4);
  EXPECT_THAT(ends_with(watch, milliseconds(2100)), HasSubstr("process 0 (rank 0 on a)"));
  EXPECT_TRUE(communicator.told(Kind::kSilent).empty()) << "nobody is there to be told";
}

// Within long work, which cannot look.
TEST_F(NeighbourWatchTest, TellsWithoutLookingAndNoMoreOftenThanIsNeeded) {
  OneOfSeveral communicator(1, 3);
  NeighbourWatch watch(communicator, places_, seconds(2), clock_, 4);
  for (int call = 0; call < 1000; ++call) {  // 10 s
    clock_.set(clock_.now() + milliseconds(10));
    watch.tell();
  }
  EXPECT_THAT(communicator.told(Kind::kAlive).size(),
              ::testing::AllOf(::testing::Ge(20U), ::testing::Le(200U)));
  EXPECT_TRUE(communicator.told(Kind::kSilent).empty());
}

TEST_F(NeighbourWatchTest, AloneOrWithoutALimitThereIsNothingToWatch) {
  OneOfSeveral alone(0, 1);
  NeighbourWatch nobody(alone, places_, seconds(2), clock_, 4);
  EXPECT_EQ(ends_with(nobody, seconds(100)), "");
  OneOfSeveral several(1, 3);
  NeighbourWatch never(several, places_, seconds(0), clock_, 4);
  EXPECT_EQ(ends_with(never, seconds(100)), "");
  EXPECT_TRUE(alone.posted.empty());
  EXPECT_TRUE(several.posted.empty());
}

}  // namespace
}  // namespace ckptsim::simulator
