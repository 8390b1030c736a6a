#include "simulator/run/load_result.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "simulator/run/rank_load_text.h"
#include "simulator/run/result.h"

namespace ckptsim::simulator {
namespace {

RankLoad rank_load(std::int64_t rank, std::int64_t duration_ns, std::uint64_t bytes) {
  RankLoad load{
      .rank = rank, .read_rank = rank, .host = "h", .payload_bytes = bytes / 2, .file_bytes = bytes};
  load.duration_ns = duration_ns;
  load.phase_ns = {0, 0, duration_ns, 0};
  load.idle_ns = duration_ns / 10;
  return load;
}

TEST(LoadResult, IsTheLongestRanksTimeOverAllBytes) {
  const LoadResult load =
      summarise_load({rank_load(0, 100, 1000), rank_load(1, 300, 1000), rank_load(2, 200, 1000)}, 350, false);
  EXPECT_EQ(load.duration_ns, 300);
  EXPECT_EQ(load.straggler_rank, 1);
  EXPECT_DOUBLE_EQ(load.skew, 1.5);
  EXPECT_EQ(load.barrier_to_barrier_ns, 350);
  EXPECT_EQ(load.file_bytes, 3000U);
  EXPECT_EQ(load.payload_bytes, 1500U);
  EXPECT_DOUBLE_EQ(load.idle_share, 0.1);
  EXPECT_FALSE(load.from_cache);
}

TEST(LoadResult, RanksWithoutFilesAreNoMeasureOfATypicalRank) {
  EXPECT_DOUBLE_EQ(
      summarise_load({rank_load(0, 100, 1000), rank_load(1, 0, 0), rank_load(2, 0, 0)}, 100, false).skew, 1);
}

TEST(LoadResult, SaysHowMuchAPageCacheHeldAndWhetherItWasAsked) {
  std::vector<RankLoad> ranks = {rank_load(0, 100, 1000), rank_load(1, 100, 1000)};
  ranks[1].cached_bytes_before = 500;
  const LoadResult through = summarise_load(ranks, 100, true);
  EXPECT_TRUE(through.from_cache);
  EXPECT_DOUBLE_EQ(through.cached_share, 0.25);
  const LoadResult past = summarise_load(ranks, 100, false);
  EXPECT_FALSE(past.from_cache) << "direct reads do not ask the page cache";
  EXPECT_EQ(past.cached_bytes_before, 500U);
}

TEST(LoadResult, WhatOneRankDoesNotKnowOfThePageCacheNobodyKnows) {
  std::vector<RankLoad> ranks = {rank_load(0, 100, 1000), rank_load(1, 100, 1000), rank_load(2, 100, 1000)};
  ranks[1].cached_bytes_before.reset();
  const LoadResult through = summarise_load(ranks, 100, true);
  EXPECT_FALSE(through.cached_bytes_before.has_value());
  EXPECT_FALSE(through.cached_share.has_value());
  EXPECT_TRUE(through.from_cache) << "nobody can say that it was not";
  EXPECT_FALSE(summarise_load(ranks, 100, false).from_cache);
}

TEST(LoadResult, APassAveragesTheLoadsThatItHas) {
  PassResult pass;
  pass.checkpoints.resize(3);
  summarise_pass(pass);
  EXPECT_FALSE(pass.load.has_value());
  pass.checkpoints[0].load = summarise_load({rank_load(0, 100'000'000, 300'000'000)}, 0, false);
  summarise_pass(pass);
  EXPECT_FALSE(pass.load->stdev_s.has_value());
  pass.checkpoints[2].load = summarise_load({rank_load(0, 300'000'000, 300'000'000)}, 0, false);
  summarise_pass(pass);
  EXPECT_DOUBLE_EQ(pass.load->average_s, 0.2);
  EXPECT_DOUBLE_EQ(pass.load->min_s, 0.1);
  EXPECT_DOUBLE_EQ(pass.load->max_s, 0.3);
  EXPECT_NEAR(*pass.load->stdev_s, 0.1414, 0.0001);
  EXPECT_DOUBLE_EQ(pass.load->throughput_gb_per_s, 1.5);
}

TEST(RankLoadText, ComesBackWhole) {
  const RankLoad load{.rank = 7,
                      .read_rank = 3,
                      .host = "node-12",
                      .payload_bytes = UINT64_MAX,
                      .file_bytes = 2,
                      .read_bytes = 4,
                      .blocks = 5,
                      .cached_bytes_before = 6,
                      .duration_ns = 8,
                      .phase_ns = {9, 10, 11, 12},
                      .idle_ns = 13,
                      .cpu_ns = 14,
                      .cpu_wait_ns = -1,
                      .latency_p50_ns = 15,
                      .latency_p99_ns = 16,
                      .latency_p999_ns = 17,
                      .latency_max_ns = 18};
  EXPECT_EQ(rank_load_to_text(load),
            "node-12 7 3 18446744073709551615 2 4 5 6 8 9 10 11 12 13 14 -1 15 16 17 18");
  EXPECT_EQ(rank_load_to_text(rank_load_from_text(rank_load_to_text(load))), rank_load_to_text(load));
}

TEST(RankLoadText, CarriesThatACountIsNotKnown) {
  RankLoad load = rank_load(1, 2, 3);
  load.cached_bytes_before.reset();
  const RankLoad came = rank_load_from_text(rank_load_to_text(load));
  EXPECT_FALSE(came.cached_bytes_before.has_value());
  EXPECT_EQ(came.duration_ns, 2);
}

TEST(RankLoadText, RefusesWhatIsCutShortOrTooLong) {
  const std::string whole = rank_load_to_text(rank_load(0, 1, 2));
  EXPECT_THROW((void)rank_load_from_text(whole.substr(0, whole.rfind(' '))), std::invalid_argument);
  EXPECT_THROW((void)rank_load_from_text(whole + " 1"), std::invalid_argument);
  EXPECT_THROW((void)rank_load_from_text(""), std::invalid_argument);
  EXPECT_THROW((void)rank_load_from_text("node-12 7 3 1 2 4 5 many 8 9 10 11 12 13 14 -1 15 16 17 18"),
               std::invalid_argument);
}

}  // namespace
}  // namespace ckptsim::simulator
