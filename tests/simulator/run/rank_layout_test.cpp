#include "simulator/run/rank_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ckptsim::simulator {
namespace {

using ::testing::ElementsAre;

std::vector<int> processes_of(const std::vector<RankPlace>& places) {
  std::vector<int> processes;
  processes.reserve(places.size());
  for (const RankPlace& place : places)
    processes.push_back(place.process);
  return processes;
}

TEST(PlaceRanks, GivesContiguousBlocksTheFirstProcessesOneMore) {
  EXPECT_THAT(processes_of(place_ranks(8, {"a", "a", "a"}, 1)), ElementsAre(0, 0, 0, 1, 1, 1, 2, 2));
  EXPECT_THAT(processes_of(place_ranks(4, {"a", "a", "a", "a"}, 1)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(processes_of(place_ranks(3, {"a"}, 1)), ElementsAre(0, 0, 0));
}

TEST(PlaceRanks, CountsLocalRanksByHostAndTakesTargetsInTurn) {
  // Five ranks on one host, three on another, as an uneven hostfile gives.
  const std::vector<RankPlace> places = place_ranks(8, {"a", "a", "a", "a", "a", "b", "b", "b"}, 2);
  std::vector<long> local;
  std::vector<std::size_t> targets;
  for (const RankPlace& place : places) {
    local.push_back(place.local_rank);
    targets.push_back(place.target);
  }
  EXPECT_THAT(local, ElementsAre(0, 1, 2, 3, 4, 0, 1, 2));
  EXPECT_THAT(targets, ElementsAre(0, 1, 0, 1, 0, 0, 1, 0));
}

TEST(PlaceRanks, IsTheSameForAnyNumberOfProcessesOnOneHost) {
  for (const std::size_t count : {1U, 2U, 3U, 5U, 8U}) {
    const std::vector<RankPlace> places = place_ranks(8, std::vector<std::string>(count, "a"), 3);
    for (long rank = 0; rank < 8; ++rank) {
      EXPECT_EQ(places[static_cast<std::size_t>(rank)].rank, rank);
      EXPECT_EQ(places[static_cast<std::size_t>(rank)].target, static_cast<std::size_t>(rank) % 3);
    }
  }
}

TEST(Groups, AreLedByTheLowestRankOfEachHostAndTarget) {
  const std::vector<TargetGroup> groups = groups_of(place_ranks(6, {"a", "a", "a", "b", "b", "b"}, 2));
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_THAT(groups[0].ranks, ElementsAre(0, 2));
  EXPECT_THAT(groups[1].ranks, ElementsAre(1));
  EXPECT_THAT(groups[2].ranks, ElementsAre(3, 5));
  EXPECT_EQ(groups[2].leader_process, 3);
  EXPECT_EQ(groups[0].manifest, "manifest.json");
}

TEST(SharedTargets, BecomeOneGroupUnderTheLowestRank) {
  std::vector<TargetGroup> groups = groups_of(place_ranks(8, {"a", "a", "a", "a", "a", "b", "b", "b"}, 1));
  const std::vector<TargetGroup> joined = join_shared(groups, {{0, 1}, {0, 1}});
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_THAT(joined[0].ranks, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(joined[0].leader_process, 0);
  EXPECT_EQ(joined[0].manifest, "manifest.json") << "one group writes the whole manifest";
}

TEST(SharedTargets, FoldersOfTheirOwnKeepAManifestAHost) {
  std::vector<TargetGroup> groups = groups_of(place_ranks(8, {"a", "a", "a", "a", "a", "b", "b", "b"}, 1));
  const std::vector<TargetGroup> joined = join_shared(groups, {{0}, {1}});
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_EQ(joined[0].manifest, "manifest-a.json");
  EXPECT_EQ(joined[1].manifest, "manifest-b.json");
}

}  // namespace
}  // namespace ckptsim::simulator
