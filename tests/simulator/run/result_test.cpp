#include "simulator/run/result.h"

#include <gtest/gtest.h>

#include <utility>

namespace ckptsim::simulator {
namespace {

RankSave rank_save(std::int64_t rank, std::int64_t write_ns, std::int64_t sync_ns, std::int64_t idle_ns = 0) {
  RankSave save;
  save.rank = rank;
  save.host = "a";
  save.file_bytes = 1000;
  save.payload_bytes = 900;
  save.duration_ns = write_ns + sync_ns;
  save.phase_ns[static_cast<std::size_t>(Phase::kWrite)] = write_ns;
  save.phase_ns[static_cast<std::size_t>(Phase::kSync)] = sync_ns;
  save.idle_ns = idle_ns;
  save.depth_integral_ns = 2 * write_ns;
  save.busy = {{0, write_ns}};
  return save;
}

TEST(SummariseSave, TheSlowestRankIsTheDuration) {
  const SaveResult save =
      summarise_save({rank_save(0, 90, 10), rank_save(1, 110, 10), rank_save(2, 95, 10)}, 130, Sink::kDrive);
  EXPECT_EQ(save.duration_ns, 120);
  EXPECT_EQ(save.straggler_rank, 1);
  EXPECT_DOUBLE_EQ(save.skew, 120.0 / 105.0);
  EXPECT_EQ(save.file_bytes, 3000U);
  EXPECT_EQ(save.payload_bytes, 2700U);
  EXPECT_EQ(save.barrier_to_barrier_ns, 130);
  EXPECT_EQ(save.bound, Bound::kDrive);
}

TEST(SummariseSave, NoRankWaitsForAProcessorLongerThanItsCheckpointTook) {
  RankSave starved = rank_save(0, 100, 0);
  starved.cpu_wait_ns = 108;
  const SaveResult save = summarise_save({starved, rank_save(1, 100, 0)}, 100, Sink::kNowhere);
  EXPECT_DOUBLE_EQ(save.cpu_wait_share.value_or(0), 0.5);
  EXPECT_EQ(save.ranks[0].cpu_wait_ns, 100);
}

TEST(SummariseSave, MoreThanFivePercentIdleOverAllRanksIsGeneratorBound) {
  EXPECT_FALSE(
      summarise_save({rank_save(0, 100, 0, 10), rank_save(1, 100, 0, 0)}, 100, Sink::kDrive).generator_bound);
  const SaveResult bound =
      summarise_save({rank_save(0, 100, 0, 10), rank_save(1, 100, 0, 1)}, 100, Sink::kDrive);
  EXPECT_TRUE(bound.generator_bound);
  EXPECT_DOUBLE_EQ(bound.idle_share, 0.055);
  EXPECT_EQ(bound.bound, Bound::kHost);
}

TEST(SummariseSave, SaysSyncingOrOneRankWhereThatIsWhatItWaitedFor) {
  EXPECT_EQ(summarise_save({rank_save(0, 40, 60), rank_save(1, 40, 60)}, 100, Sink::kDrive).bound,
            Bound::kSync);
  const SaveResult skewed =
      summarise_save({rank_save(0, 100, 0), rank_save(1, 100, 0), rank_save(2, 200, 0)}, 200, Sink::kDrive);
  EXPECT_EQ(skewed.bound, Bound::kOneRank);
  EXPECT_NE(skewed.bound_words.find("rank 2"), std::string::npos);
  EXPECT_EQ(summarise_save({rank_save(0, 100, 0)}, 100, Sink::kNowhere).bound, Bound::kHost)
      << "null writes nothing";
}

TEST(SummariseSave, RanksThatWaitForAProcessorAreTheHosts) {
  RankSave starved = rank_save(0, 100, 0);
  starved.cpu_wait_ns = 60;
  const SaveResult save = summarise_save({starved, rank_save(1, 100, 0)}, 100, Sink::kDrive);
  EXPECT_EQ(save.bound, Bound::kHost);
  EXPECT_DOUBLE_EQ(save.cpu_wait_share.value_or(0), 0.3);
  EXPECT_NE(save.bound_words.find("processor 30 %"), std::string::npos) << save.bound_words;
  starved.cpu_wait_ns = -1;
  EXPECT_FALSE(summarise_save({starved, rank_save(1, 100, 0)}, 100, Sink::kDrive).cpu_wait_share.has_value());
}

TEST(SummariseSave, WhatIsNeverSyncedIsMemorysUntilTheHostIsToBlame) {
  EXPECT_EQ(summarise_save({rank_save(0, 100, 0)}, 100, Sink::kPageCache).bound, Bound::kMemory);
  EXPECT_EQ(summarise_save({rank_save(0, 100, 0, 50)}, 100, Sink::kPageCache).bound, Bound::kHost);
}

TEST(SummariseSave, AnIdleSoftwareIsNamedBeforeTheRankThatItSlowedMost) {
  const SaveResult save = summarise_save(
      {rank_save(0, 100, 0), rank_save(1, 100, 0), rank_save(2, 200, 0, 150)}, 200, Sink::kDrive);
  EXPECT_EQ(save.bound, Bound::kHost);
}

TEST(SummariseSave, ATargetIsIdleWhereNoneOfItsRanksHasIoInFlight) {
  RankSave first = rank_save(0, 100, 0);
  first.busy = {{0, 40}};
  RankSave second = rank_save(1, 100, 0);
  second.busy = {{30, 70}};
  RankSave other = rank_save(2, 100, 0);
  other.target = 1;
  const SaveResult save = summarise_save({first, second, other}, 100, Sink::kDrive);
  ASSERT_EQ(save.targets.size(), 2U);
  EXPECT_EQ(save.targets[0].idle_ns, 30);
  EXPECT_DOUBLE_EQ(save.targets[0].idle_share, 0.3);
  EXPECT_DOUBLE_EQ(save.targets[0].mean_depth, 4.0);
  EXPECT_EQ(save.targets[1].idle_ns, 0);
}

TEST(SummariseSave, RanksWithoutFilesDoNotDrawTheMedianDown) {
  RankSave empty = rank_save(1, 0, 0);
  empty.file_bytes = 0;
  EXPECT_DOUBLE_EQ(summarise_save({rank_save(0, 100, 0), empty}, 100, Sink::kDrive).skew, 1);
}

TEST(CostOfBarriers, IsTheTimeInWhichNoRankRan) {
  std::vector<RankSave> ranks = {rank_save(0, 90, 10), rank_save(1, 90, 10), rank_save(2, 90, 10)};
  ranks[0].started_ns = 1500;  // ran late: that others ran meanwhile is no cost
  ranks[1].started_ns = 1020;
  ranks[2].started_ns = 3;  // by another host's clock
  ranks[2].host = "b";
  ranks[0].exit_ns = 7;
  ranks[1].exit_ns = 500;
  ranks[2].exit_ns = 9;
  const EngineCost cost = cost_of_barriers(ranks, "a", 1000);
  EXPECT_EQ(cost.start_ns, 20);
  EXPECT_EQ(cost.finish_ns, 7);
}

TEST(SummarisePass, MeanOfDurationsAndBytesOverTimeAreTwoThings) {
  PassResult pass;
  for (const std::int64_t seconds_long : {1, 3}) {
    CheckpointResult checkpoint;
    checkpoint.save.duration_ns = seconds_long * 1'000'000'000;
    checkpoint.save.file_bytes = 6'000'000'000;
    pass.checkpoints.push_back(std::move(checkpoint));
  }
  summarise_pass(pass);
  EXPECT_DOUBLE_EQ(pass.average_s, 2);
  EXPECT_DOUBLE_EQ(pass.throughput_gb_per_s, 3) << "not the mean of 6 and 2 GB/s";
  EXPECT_DOUBLE_EQ(pass.stdev_s.value_or(0), 1.4142135623730951);
  EXPECT_DOUBLE_EQ(pass.min_s, 1);
  EXPECT_DOUBLE_EQ(pass.max_s, 3);
}

}  // namespace
}  // namespace ckptsim::simulator
