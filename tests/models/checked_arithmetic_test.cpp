#include "models/checked_arithmetic.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/models/config_error_matcher.h"

namespace ckptsim::models {
namespace {

using ::ckptsim::testing::throws_config_error;
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

TEST(CheckedArithmetic, ReachesTheLargestSizeAndNotBeyond) {
  EXPECT_EQ(checked_sum(kLargest - 1, 1), kLargest);
  EXPECT_THAT([] { return checked_sum(kLargest, 1); }, throws_config_error("/model", "2^63 - 1"));
  EXPECT_EQ(checked_product(kLargest / 7, 7), kLargest);  // 7 divides 2^63 - 1
  EXPECT_THAT([] { return checked_product(kLargest / 7 + 1, 7); }, throws_config_error("/model", "2^63 - 1"));
}

TEST(CheckedArithmetic, CountsTheElementsOfAShape) {
  EXPECT_EQ(checked_element_count({}), 1);
  EXPECT_EQ(checked_element_count({7}), 7);
  EXPECT_EQ(checked_element_count({128256, 16384}), 2101346304);
  EXPECT_THAT(
      [] {
        return checked_element_count({1LL << 32, 1LL << 31});
      },
      throws_config_error("/model", "2^63 - 1"));
}

}  // namespace
}  // namespace ckptsim::models
