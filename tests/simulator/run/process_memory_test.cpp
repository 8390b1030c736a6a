#include "simulator/run/process_memory.h"

#include <gtest/gtest.h>

#include "storage/target/make_target.h"

namespace ckptsim::simulator {
namespace {

TEST(ProcessMemory, CountsTransparentAndReservedHugePages) {
  EXPECT_EQ(parse_huge_page_bytes("55d0-7ffd ---p 00000000 00:00 0    [rollup]\nRss:      900 kB\n"
                                  "AnonHugePages:      2048 kB\nPrivate_Hugetlb:     4096 kB\n"),
            6144U * 1024);
  EXPECT_EQ(parse_huge_page_bytes(""), 0U);
}

TEST(ProcessMemory, TheMostResidentNeverFallsAndHoldsWhatWasTouched) {
  const std::uint64_t before = max_rss_bytes();
  EXPECT_GT(before, 0U);
  const storage::SteadyClock clock;
  const auto target = storage::make_target(
      {.backend = storage::Backend::kNull, .block_bytes = std::uint64_t{16} << 20U, .queue_depth = 2}, clock);
  target->warm_up();
  EXPECT_GE(max_rss_bytes(), target->buffer_bytes());
  EXPECT_GE(max_rss_bytes(), before);
}

}  // namespace
}  // namespace ckptsim::simulator
