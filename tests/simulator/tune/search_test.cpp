#include "simulator/tune/search.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>
#include <string>

namespace ckptsim::simulator {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

class HandClock final : public storage::Clock {
 public:
  [[nodiscard]] Time now() const override { return now_; }
  void advance(Time by) { now_ += by; }

 private:
  Time now_{};
};

const std::vector<Dimension>& grid() {
  static const std::vector<Dimension> dimensions = {
      {.key = "block", .values = {"4", "1", "2", "8", "16"}, .in_product = true},
      {.key = "depth", .values = {"4", "2", "8", "16"}, .in_product = true},
      {.key = "preallocate", .values = {"false", "true"}},
      {.key = "polling", .values = {"off", "on"}},
  };
  return dimensions;
}

Settings all_configured() {
  return {"block=4", "depth=4", "preallocate=false", "polling=off"};
}

bool has(const Settings& settings, const std::string& one) {
  return std::find(settings.begin(), settings.end(), one) != settings.end();
}

// A drive in virtual time: a measurement takes a second of the clock, and its speed is what `speed` says
// times some noise.
class Drive {
 public:
  using Speed = std::function<double(const Settings&)>;

  explicit Drive(Speed speed, double noise = 0, unsigned seed = 1)
      : speed_(std::move(speed)), noise_(0, noise), random_(seed) {}

  Found search_for(storage::Clock::Time budget, const std::vector<Dimension>& dimensions = grid()) {
    return search(
        dimensions,
        [this](const Settings& settings) {
          clock.advance(cost);
          ++measured[settings];
          const auto refused = std::find_if(settings.begin(), settings.end(), [this](const std::string& one) {
            return refusals.count(one) > 0;
          });
          if (refused != settings.end()) return Outcome{.refusal = refusals[*refused]};
          return Outcome{.gb_per_s = speed_(settings) * (1 + (noise_.stddev() > 0 ? noise_(random_) : 0))};
        },
        clock, budget);
  }

  HandClock clock;
  storage::Clock::Time cost = 1s;
  std::map<Settings, int> measured;
  std::map<std::string, std::string> refusals;

 private:
  Speed speed_;
  std::normal_distribution<double> noise_;
  std::mt19937 random_;
};

double flat(const Settings& /*settings*/) {
  return 5;
}

double likes_depth_16(const Settings& settings) {
  if (has(settings, "depth=16")) return 6;
  return has(settings, "depth=8") ? 5.3 : 5;
}

TEST(Search, AFlatDriveGivesTheConfiguredSettings) {
  const Found found = Drive(flat).search_for(60s);
  EXPECT_EQ(found.verdict, Verdict::kNotBetter);
  EXPECT_EQ(found.trials[found.best].settings, all_configured());
  EXPECT_EQ(found.noise, 0);
  EXPECT_EQ(found.gain, 0);
  EXPECT_EQ(found.not_tried, 0U);
}

TEST(Search, ANoisyFlatDriveGivesTheConfiguredSettings) {
  // Differences of noise alone are taken for better in few of many searches, whatever the noise.
  for (const double noise : {0.01, 0.05, 0.2}) {
    int mistaken = 0;
    for (unsigned seed = 1; seed <= 200; ++seed) {
      const Found found = Drive(flat, noise, seed).search_for(60s);
      if (found.best != 0) ++mistaken;
      EXPECT_GT(found.noise, 0) << seed;
    }
    EXPECT_LE(mistaken, 4) << noise;
  }
}

TEST(Search, ADriveThatLikesDepth16FindsItThroughTheNoise) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Found found = Drive(likes_depth_16, 0.02, seed).search_for(60s);
    EXPECT_EQ(found.verdict, Verdict::kBetter) << seed;
    EXPECT_TRUE(has(found.trials[found.best].settings, "depth=16")) << seed;
    EXPECT_NEAR(found.gain, 0.2, 0.05) << seed;
    EXPECT_GT(found.gain, found.noise) << seed;
  }
}

TEST(Search, SettingsOutsideTheProductAreTriedOnWhatWasFastest) {
  Drive drive([](const Settings& settings) {
    const bool large = has(settings, "block=16") && has(settings, "depth=16");
    return (large ? 6.0 : 5.0) + (large && has(settings, "polling=on") ? 2 : 0);
  });
  const Found found = drive.search_for(60s);
  EXPECT_THAT(found.trials[found.best].settings,
              ElementsAre("block=16", "depth=16", "preallocate=false", "polling=on"));
  EXPECT_EQ(found.trials.size(), 22U);  // 5 x 4, and one value each of the other two
}

TEST(Search, OfEqualSettingsTheFewestChangesWin) {
  Drive drive([](const Settings& settings) {
    return has(settings, "depth=8") || has(settings, "depth=16") ? 6.0 : 5.0;
  });
  const Found found = drive.search_for(60s);
  EXPECT_EQ(found.verdict, Verdict::kBetter);
  EXPECT_THAT(found.trials[found.best].settings,
              ElementsAre("block=4", "depth=8", "preallocate=false", "polling=off"));
  EXPECT_NEAR(found.gain, 0.2, 1e-9);
}

TEST(Search, TheComparisonTakesTurnsSoThatADriftFavoursNobody) {
  // A drive that grows slower with everything that is written.
  double speed = 10;
  Drive drive([&speed](const Settings&) { return speed *= 0.99; });
  const Found found = drive.search_for(60s);
  EXPECT_EQ(found.best, 0U);
  const auto compared = [](const Trial& trial) { return trial.compared.size(); };
  for (const Trial& trial : found.trials) {
    if (compared(trial) > 0) {
      EXPECT_EQ(compared(trial), found.comparisons);
    }
  }
  EXPECT_EQ(std::count_if(found.trials.begin(), found.trials.end(),
                          [&](const Trial& trial) { return compared(trial) > 0; }),
            4);
}

TEST(Search, NoMeasurementBeginsThatWouldEndAfterTheDeadline) {
  for (const storage::Clock::Time budget :
       {storage::Clock::Time(0s), storage::Clock::Time(1s), storage::Clock::Time(10s),
        storage::Clock::Time(17500ms), storage::Clock::Time(60s), storage::Clock::Time(600s)}) {
    Drive drive(flat, 0.01);
    const Found found = drive.search_for(budget);
    EXPECT_LE(drive.clock.now(), std::max<storage::Clock::Time>(budget, 1s));
    EXPECT_EQ(found.best, 0U);
  }
}

TEST(Search, WhatThereWasNoTimeForIsSaid) {
  const Found found = Drive(likes_depth_16).search_for(20s);
  EXPECT_GT(found.not_tried, 0U);
  EXPECT_EQ(found.not_tried + found.trials.size(), 22U);
  EXPECT_THAT(found.comparisons, AllOf(Ge(3U), Le(4U)));
  // Settings that differ in one key come first, so that depth 16 was among those tried.
  EXPECT_TRUE(has(found.trials[found.best].settings, "depth=16"));
}

TEST(Search, TooFewComparisonsLeaveTheConfiguredSettings) {
  const Found found = Drive(likes_depth_16).search_for(5s);
  EXPECT_EQ(found.verdict, Verdict::kOutOfTime);
  EXPECT_EQ(found.best, 0U);
  EXPECT_LT(found.comparisons, 3U);
}

TEST(Search, FewSettingsNeedLittleTime) {
  Drive drive([](const Settings& settings) { return has(settings, "preallocate=true") ? 6.0 : 5.0; });
  const Found found =
      drive.search_for(9s, {{.key = "preallocate", .values = {"false", "true"}}});  // 1 + 2 + 3 x 2
  EXPECT_EQ(found.verdict, Verdict::kBetter);
  EXPECT_EQ(found.comparisons, 3U);
}

TEST(Search, OfSeveralChangesThoseThatWereFastestAloneComeFirst) {
  Drive drive([](const Settings& settings) {
    return 5.0 + (has(settings, "block=16") ? 1 : 0) + (has(settings, "depth=16") ? 1 : 0);
  });
  const Found found = drive.search_for(26s);  // 8 of at most one change, 4 and 12 kept, so that 2 are left
  EXPECT_GT(found.not_tried, 5U);
  EXPECT_THAT(found.trials[found.best].settings,
              ElementsAre("block=16", "depth=16", "preallocate=false", "polling=off"));
}

TEST(Search, MuchTimeEndsTheSearchAllTheSame) {
  Drive drive(flat, 0.01);
  const Found found = drive.search_for(std::chrono::hours(1));
  EXPECT_LT(drive.clock.now(), 120s);
  EXPECT_EQ(found.not_tried, 0U);
}

TEST(Search, ARefusedSettingIsReportedAndTheOthersAreTried) {
  Drive drive(likes_depth_16, 0.01);
  drive.refusals["preallocate=true"] = "files cannot be preallocated here";
  const Found found = drive.search_for(60s);
  EXPECT_THAT(found.trials, Contains(AllOf(Field(&Trial::settings, Contains("preallocate=true")),
                                           Field(&Trial::refusal, HasSubstr("preallocated")),
                                           Field(&Trial::screened, IsEmpty()))));
  EXPECT_TRUE(has(found.trials[found.best].settings, "depth=16"));
  EXPECT_FALSE(has(found.trials[found.best].settings, "preallocate=true"));
  EXPECT_EQ(found.trials.size(), 22U);
}

TEST(Search, WhereEverythingElseIsRefusedTheConfiguredSettingsStand) {
  const std::vector<Dimension> only_preallocate = {{.key = "preallocate", .values = {"false", "true"}}};
  Drive drive(flat);
  drive.refusals["preallocate=true"] = "no";
  const Found found = drive.search_for(60s, only_preallocate);
  EXPECT_EQ(found.verdict, Verdict::kNotBetter);
  EXPECT_EQ(found.best, 0U);
  EXPECT_EQ(found.comparisons, 0U);
}

TEST(Search, SettingsThatAreRefusedInTheComparisonLeaveIt) {
  int times = 0;
  const Measure measure = [&times](const Settings& settings) -> Outcome {
    if (!has(settings, "preallocate=true")) return {.gb_per_s = 5};
    return ++times > 2 ? Outcome{.refusal = "no more"} : Outcome{.gb_per_s = 9};
  };
  const HandClock clock;
  const Found found = search({{.key = "preallocate", .values = {"false", "true"}}}, measure, clock, 60s);
  EXPECT_EQ(found.best, 0U);
  EXPECT_EQ(found.trials[1].refusal, "no more");
}

TEST(Search, AnErrorEndsIt) {
  Drive drive([](const Settings& settings) -> double {
    if (has(settings, "depth=16")) throw std::runtime_error("No space left on device");
    return 5;
  });
  EXPECT_THROW((void)drive.search_for(60s), std::runtime_error);
  EXPECT_THAT(drive.measured, Not(SizeIs(Ge(20U))));
}

TEST(Spread, IsTheRangeOverTheMedian) {
  EXPECT_DOUBLE_EQ(spread({4, 5, 6}), 0.4);
  EXPECT_EQ(spread({5}), 0);
  EXPECT_EQ(spread({}), 0);
  EXPECT_EQ(spread({0, 0, 0}), 0);
}

}  // namespace
}  // namespace ckptsim::simulator
