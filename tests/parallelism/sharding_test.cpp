#include "parallelism/sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/models/config_error_matcher.h"

namespace ckptsim::parallelism {
namespace {

using ::ckptsim::testing::throws_config_error;
using models::Parameter;
using ::testing::ElementsAre;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

Parameter matrix(std::int64_t rows, std::int64_t columns, std::optional<std::size_t> cut) {
  return {"matrix", {rows, columns}, cut, {}};
}

TEST(ShardShape, DividesOnlyTheCutAxis) {
  EXPECT_THAT(shard_shape(matrix(12, 8, 0), 4, 1.0), ElementsAre(3, 8));
  EXPECT_THAT(shard_shape(matrix(12, 8, 1), 4, 1.0), ElementsAre(12, 2));
  EXPECT_THAT(shard_shape({"norm", {8}, std::nullopt, {}}, 4, 1.0), ElementsAre(8));
}

TEST(ShardShape, ScalesMatrixDimensionsByTheRootAndVectorsByTheWhole) {
  EXPECT_THAT(shard_shape(matrix(200, 60, std::nullopt), 1, 0.25), ElementsAre(100, 30));
  EXPECT_THAT(shard_shape({"norm", {200}, std::nullopt, {}}, 1, 0.25), ElementsAre(50));
}

TEST(ShardShape, ScalesAfterItCuts) {
  // 10 / 2 = 5, halved 2.5, up to 3; halved first it would be 5 / 2.
  EXPECT_THAT(shard_shape(matrix(10, 10, 0), 2, 0.25), ElementsAre(3, 5));
}

TEST(ShardShape, RoundsHalvesUpAndKeepsAtLeastOne) {
  EXPECT_THAT(shard_shape({"norm", {5}, std::nullopt, {}}, 1, 0.5), ElementsAre(3));
  EXPECT_THAT(shard_shape({"norm", {4}, std::nullopt, {}}, 1, 0.3), ElementsAre(1));  // 1.2
  EXPECT_THAT(shard_shape(matrix(3, 1, std::nullopt), 1, 1e-12), ElementsAre(1, 1));
}

TEST(ShardShape, UnscaledDimensionsAreExactEvenWhereADoubleIsNot) {
  const std::int64_t odd = (std::int64_t{1} << 53) + 1;
  EXPECT_THAT(shard_shape({"norm", {odd}, std::nullopt, {}}, 1, 1.0), ElementsAre(odd));
}

TEST(ShardShape, RefusesScalesThatAreNoScales) {
  for (const double scale :
       {0.0, -0.5, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT([&] { return shard_shape(matrix(4, 4, 0), 1, scale); },
                throws_config_error("/scale", "above 0"));
  }
}

TEST(ShardShape, AScaledDimensionPastSixtyThreeBitsIsRefusedInsteadOfWrapping) {
  EXPECT_THAT(
      [] {
        return shard_shape({"norm", {kLargest}, std::nullopt, {}}, 1, 1.5);
      },
      throws_config_error("/scale", "2^63 - 1"));
  // 2^63 - 1 itself rounds to the double 2^63 and back down with the scale.
  EXPECT_THAT(shard_shape({"norm", {kLargest}, std::nullopt, {}}, 1, 0.5),
              ElementsAre(std::int64_t{1} << 62));
}

TEST(ShardShapeDeathTest, AnIndivisibleCutIsAMistakeOfTheProgramBecauseTheTopologyWasChecked) {
  EXPECT_DEATH(static_cast<void>(shard_shape(matrix(12, 8, 0), 5, 1.0)), "divides");
  EXPECT_DEATH(static_cast<void>(shard_shape(matrix(12, 8, 0), 0, 1.0)), "divides");
}

TEST(SliceElements, SlicesCoverAllElementsAndPadLessThanOneEach) {
  for (std::int64_t elements = 0; elements <= 130; ++elements) {
    for (std::int64_t data = 1; data <= 17; ++data) {
      const std::int64_t covered = slice_elements(elements, data) * data;
      ASSERT_GE(covered, elements) << data;
      ASSERT_LT(covered, elements + data) << data;
    }
  }
}

TEST(SliceElements, DoesNotOverflowNearTheLargestCount) {
  EXPECT_EQ(slice_elements(kLargest, 2), std::int64_t{1} << 62);
  EXPECT_EQ(slice_elements(kLargest, kLargest), 1);
}

TEST(ElementCount, MultipliesTheShapeAndRefusesToOverflow) {
  EXPECT_EQ(element_count({3, 8}), 24);
  EXPECT_THAT([] { return element_count({kLargest, 2}); }, throws_config_error("/model", "2^63 - 1"));
}

}  // namespace
}  // namespace ckptsim::parallelism
