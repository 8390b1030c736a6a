#include "simulator/config/nearest_name.h"

#include <gtest/gtest.h>

namespace ckptsim::simulator {
namespace {

TEST(EditDistance, CountsInsertionsRemovalsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("fsync", "fsync"), 0U);
  EXPECT_EQ(edit_distance("fsnyc", "fsync"), 1U);
  EXPECT_EQ(edit_distance("queue-depth", "queue_depth"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(EditDistance, DoesNotBuildATableForHugeNames) {
  const std::string huge(1000000, 'x');
  EXPECT_EQ(edit_distance(huge, "x"), huge.size());
  EXPECT_EQ(edit_distance(huge, huge), 0U);
}

TEST(NearestName, FindsASlipOfThePen) {
  EXPECT_EQ(nearest_name("fsnyc", {"load", "fsync", "trim"}), "fsync");
  EXPECT_EQ(nearest_name("targtes", {"backend", "targets"}), "targets");
}

TEST(NearestName, TakesABeginningForTheWhole) {
  EXPECT_EQ(nearest_name("llama3.1-8b", {"llama3.1-405b-tp4pp2", "llama3.1-8b-tp1pp1"}),
            "llama3.1-8b-tp1pp1");
}

TEST(NearestName, SuggestsNothingFarOff) {
  EXPECT_EQ(nearest_name("compression", {"load", "fsync", "trim"}), std::nullopt);
  EXPECT_EQ(nearest_name("x", {"load", "fsync", "trim"}), std::nullopt);
  EXPECT_EQ(nearest_name("fsync", {}), std::nullopt);
}

}  // namespace
}  // namespace ckptsim::simulator
