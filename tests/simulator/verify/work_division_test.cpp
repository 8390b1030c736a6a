#include "simulator/verify/work_division.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace ckptsim::simulator {
namespace {

TEST(WorkDivision, GivesEveryItemToExactlyOneWorker) {
  for (const std::size_t workers : {1U, 2U, 3U, 8U, 20U}) {
    std::vector<std::uint64_t> sizes(17);
    std::iota(sizes.begin(), sizes.end(), 0U);
    const auto shares = divide_work(sizes, workers);
    ASSERT_EQ(shares.size(), workers);
    std::vector<std::size_t> all;
    for (const auto& share : shares)
      all.insert(all.end(), share.begin(), share.end());
    std::sort(all.begin(), all.end());
    std::vector<std::size_t> expected(17);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    EXPECT_EQ(all, expected) << workers;
  }
}

TEST(WorkDivision, BalancesFewLargeAndManySmallItems) {
  std::vector<std::uint64_t> sizes(100, 10);
  sizes[50] = 500;
  const auto shares = divide_work(sizes, 3);
  for (const auto& share : shares) {
    std::uint64_t bytes = 0;
    for (const std::size_t item : share)
      bytes += sizes[item];
    EXPECT_GE(bytes, 490U);
    EXPECT_LE(bytes, 510U);
  }
}

}  // namespace
}  // namespace ckptsim::simulator
