#include "simulator/run/load_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "simulator/engine/failure.h"

namespace ckptsim::simulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::vector<RankPlace>& places) {
  try {
    (void)load_ranks(places, true);
  } catch (const RunFailure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kUsage);
    return failure.what();
  }
  return {};
}

TEST(LoadRanks, AreTheRanksThemselvesWithoutAShift) {
  EXPECT_THAT(load_ranks(place_ranks(4, {"a", "b"}, 1), false), ElementsAre(0, 1, 2, 3));
}

TEST(LoadRanks, AreThoseOneHostFurtherOn) {
  EXPECT_THAT(load_ranks(place_ranks(6, {"a", "b", "c"}, 1), true), ElementsAre(2, 3, 4, 5, 0, 1));
  EXPECT_THAT(load_ranks(place_ranks(4, {"a", "a", "b", "b"}, 1), true), ElementsAre(2, 3, 0, 1));
}

TEST(LoadRanks, AreTheNextOnesOnASingleHost) {
  EXPECT_THAT(load_ranks(place_ranks(4, {"a"}, 1), true), ElementsAre(1, 2, 3, 0));
}

// Every division of up to 12 ranks over hosts, in blocks and in turn: each rank's files once, never at home.
TEST(LoadRanks, AreEveryRankOnceAndOnAnotherHostHoweverUnevenTheHosts) {
  for (const std::vector<std::string>& hosts : std::vector<std::vector<std::string>>{
           {"a", "b", "c"}, {"a", "b", "a", "b"}, {"a", "b", "c", "b"}, {"a", "b", "b", "c", "c", "c"}}) {
    for (long ranks = static_cast<long>(hosts.size()); ranks <= 12; ++ranks) {
      const std::vector<RankPlace> places = place_ranks(ranks, hosts, 1);
      if (!refusal(places).empty()) continue;
      std::vector<long> read = load_ranks(places, true);
      for (std::size_t rank = 0; rank < read.size(); ++rank)
        EXPECT_NE(places[rank].host, places[static_cast<std::size_t>(read[rank])].host) << ranks;
      std::sort(read.begin(), read.end());
      std::vector<long> all(read.size());
      std::iota(all.begin(), all.end(), 0L);
      EXPECT_EQ(read, all);
    }
  }
}

TEST(LoadRanks, AreFoundForHostsOfDifferentSizes) {
  // 3, 3 and 2 ranks.
  EXPECT_THAT(load_ranks(place_ranks(8, {"a", "b", "c"}, 1), true), ElementsAre(3, 4, 5, 6, 7, 0, 1, 2));
}

TEST(LoadRanks, RefusesAHostWithMoreThanHalfOfAllRanksAndARankAlone) {
  EXPECT_THAT(refusal(place_ranks(5, {"a", "b"}, 1)), HasSubstr("a has 3 of 5 ranks"));
  EXPECT_THAT(refusal(place_ranks(4, {"a", "b", "b", "b"}, 1)), HasSubstr("b has 3 of 4 ranks"));
  EXPECT_THAT(refusal(place_ranks(1, {"a"}, 1)), HasSubstr("the run's only rank"));
}

TEST(LoadRanks, AFileOnATargetOfAnotherHostsOwnIsRefused) {
  const std::vector<RankPlace> places = place_ranks(4, {"a", "b"}, 1);
  const std::vector<long> read = load_ranks(places, true);
  const std::vector<TargetGroup> own = groups_of(places);
  try {
    check_files_are_reachable(places, read, own, {"/mnt/nvme"});
    FAIL() << "not refused";
  } catch (const RunFailure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kUnsuitable);
    EXPECT_THAT(failure.what(),
                HasSubstr("rank 0 on a would read the files of rank 2, which /mnt/nvme on b keeps"));
  }
  check_files_are_reachable(places, load_ranks(places, false), own, {"/mnt/nvme"});
  check_files_are_reachable(places, read, join_shared(own, {{0, 1}, {0, 1}}), {"/mnt/nvme"});
}

TEST(LoadRanks, ARankMayReadFromAnotherTargetOfItsHost) {
  const std::vector<RankPlace> places = place_ranks(4, {"a"}, 2);
  check_files_are_reachable(places, load_ranks(places, true), groups_of(places), {"/mnt/0", "/mnt/1"});
}

}  // namespace
}  // namespace ckptsim::simulator
