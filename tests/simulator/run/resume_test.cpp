#include "simulator/run/resume.h"

#include <gtest/gtest.h>

#include "models/errors.h"

namespace ckptsim::simulator {
namespace {

CheckpointConfig config_of(const std::string& between_passes, std::int64_t warmups = 0) {
  CheckpointConfig config;
  config.passes = 3;
  config.warmup_passes = warmups;
  config.between_passes = between_passes;
  return config;
}

ResumePlan plan_of(std::uint64_t finished, const CheckpointConfig& config, std::uint64_t loaded = 0) {
  Resume resume{.finished = finished, .loaded = loaded, .checkpoints_per_pass = 3};
  return plan_resume(resume, config);
}

std::vector<Position> of_pass(std::int64_t pass, std::initializer_list<std::int64_t> checkpoints) {
  std::vector<Position> positions;
  for (const std::int64_t checkpoint : checkpoints)
    positions.push_back({pass, false, checkpoint});
  return positions;
}

TEST(Position, WarmUpPassesComeFirstAndCountByThemselves) {
  const CheckpointConfig config = config_of("truncate", 2);
  EXPECT_EQ(checkpoints_of(config, 3), 15U);
  EXPECT_EQ(position_of(0, config, 3), (Position{1, true, 1}));
  EXPECT_EQ(position_of(5, config, 3), (Position{2, true, 3}));
  EXPECT_EQ(position_of(6, config, 3), (Position{1, false, 1}));
  EXPECT_EQ(position_of(14, config, 3), (Position{3, false, 3}));
  EXPECT_EQ(position_words(position_of(5, config, 3)), "checkpoint 3 of warm-up pass 2");
}

TEST(Resume, WithNothingFinishedItIsANewRun) {
  const ResumePlan plan = plan_of(0, config_of("truncate"));
  EXPECT_TRUE(plan.is_new);
  EXPECT_EQ(plan.next, (Position{1, false, 1}));
  EXPECT_TRUE(plan.present.empty());
  EXPECT_FALSE(plan.replaces.has_value());
}

TEST(Resume, InTheFirstPassPartialFilesGoAndNothingIsRedone) {
  for (const char* policy : {"truncate", "overwrite", "delete"}) {
    const ResumePlan plan = plan_of(2, config_of(policy));
    EXPECT_EQ(plan.next, (Position{1, false, 3}));
    EXPECT_FALSE(plan.is_new);
    EXPECT_TRUE(plan.removes_files);
    EXPECT_FALSE(plan.replaces.has_value());
    EXPECT_EQ(plan.present, of_pass(1, {1, 2}));
  }
}

TEST(Resume, LaterPassesReplaceWhatTheOneBeforeLeft) {
  for (const char* policy : {"truncate", "overwrite"}) {
    const ResumePlan plan = plan_of(4, config_of(policy));
    EXPECT_EQ(plan.next, (Position{2, false, 2}));
    EXPECT_FALSE(plan.removes_files);
    ASSERT_TRUE(plan.replaces.has_value());
    EXPECT_EQ(*plan.replaces, (Position{1, false, 2}));
    EXPECT_EQ(plan.present, (std::vector<Position>{{2, false, 1}, {1, false, 3}}));
  }
}

TEST(Resume, AtAPassesBeginAllOthersOfTheOneBeforeAreThere) {
  const ResumePlan plan = plan_of(6, config_of("truncate"));
  EXPECT_EQ(*plan.replaces, (Position{2, false, 1}));
  EXPECT_EQ(plan.present, of_pass(2, {2, 3}));
}

TEST(Resume, UnderDeleteAPassesBeginNeedsNothingAndItsMiddleItsOwn) {
  const ResumePlan begin = plan_of(3, config_of("delete"));
  EXPECT_TRUE(begin.present.empty());
  EXPECT_FALSE(begin.removes_files) << "the pass removes all";
  const ResumePlan middle = plan_of(5, config_of("delete"));
  EXPECT_EQ(middle.present, of_pass(2, {1, 2}));
  EXPECT_TRUE(middle.removes_files);
  EXPECT_FALSE(middle.replaces.has_value());
}

TEST(Resume, ALoadThatIsMissingNeedsItsCheckpoint) {
  CheckpointConfig config = config_of("delete");
  config.load = "each";
  const ResumePlan plan = plan_of(3, config, 2);
  EXPECT_EQ(plan.next, (Position{1, false, 3}));
  EXPECT_EQ(plan.present, of_pass(1, {3}));
  EXPECT_EQ(plan_of(3, config, 3).next, (Position{2, false, 1}));
}

TEST(Resume, ARunIsCompleteWithItsLoads) {
  CheckpointConfig config = config_of("truncate");
  Resume resume{.finished = 9, .checkpoints_per_pass = 3};
  EXPECT_TRUE(is_complete(resume, config));
  config.load = "end";
  EXPECT_FALSE(is_complete(resume, config));
  const ResumePlan plan = plan_of(9, config, 1);
  EXPECT_EQ(plan.next, (Position{3, false, 2}));
  EXPECT_EQ(plan.present, of_pass(3, {1, 2, 3}));
  resume.loaded = 3;
  EXPECT_TRUE(is_complete(resume, config));
}

TEST(Resume, ChoicesThatCameOutDifferentlyAreRefusedByName) {
  RunResult earlier;
  earlier.effective.backend = "io_uring";
  RunResult now = earlier;
  require_same_choices(earlier, now);
  now.effective.backend = "direct";
  try {
    require_same_choices(earlier, now);
    FAIL() << "another backend went through";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("io_uring"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("direct"), std::string::npos);
  }
}

}  // namespace
}  // namespace ckptsim::simulator
