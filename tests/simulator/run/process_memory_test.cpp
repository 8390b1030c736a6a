#include "simulator/run/process_memory.h"

#include <gtest/gtest.h>

#include <cstring>

#include "storage/target/make_target.h"

namespace ckptsim::simulator {
namespace {

// Memory that is only named, at an address of its own.
std::span<const std::byte> area(std::uintptr_t begin, std::size_t bytes) {
  return {reinterpret_cast<const std::byte*>(begin), bytes};  // NOLINT(performance-no-int-to-ptr)
}

TEST(ProcessMemory, CountsTheHugePagesOfTheMappingsThatItsAreasAreIn) {
  const std::string smaps =
      "00400000-00800000 rw-p 00000000 00:00 0 \nRss:      900 kB\nAnonHugePages:      2048 kB\n"
      "Private_Hugetlb:       0 kB\nVmFlags: rd wr\n"
      "00a00000-00e00000 rw-p 00000000 00:00 0 \nAnonHugePages:      4096 kB\n"
      "7f0000000000-7f0000600000 rw-p 00000000 00:00 0 \nPrivate_Hugetlb:     6144 kB\n";
  EXPECT_EQ(parse_huge_page_bytes(smaps, {area(0x400000, 0x400000)}), 2048U * 1024);
  EXPECT_EQ(parse_huge_page_bytes(smaps, {area(0xa00000, 0x1000), area(0x7f0000000000, 0x600000)}),
            10240U * 1024);
  EXPECT_EQ(parse_huge_page_bytes(smaps, {area(0x800000, 0x200000)}), 0U) << "between two mappings";
  EXPECT_EQ(parse_huge_page_bytes(smaps, {}), 0U);
  EXPECT_EQ(parse_huge_page_bytes("", {area(0x400000, 1)}), 0U);
}

TEST(ProcessMemory, OfThisProcessMemoryWithoutHugePagesHasNone) {
  const storage::BufferPool pool(4, std::uint64_t{1} << 20U, storage::HugePages::kOff);
  std::memset(pool.memory().data(), 1, pool.memory().size());
  EXPECT_EQ(huge_page_bytes({pool.memory()}), 0U);
}

TEST(ProcessMemory, TheMostResidentNeverFallsAndHoldsWhatWasTouched) {
  const std::uint64_t before = max_rss_bytes();
  EXPECT_GT(before, 0U);
  const storage::SteadyClock clock;
  const auto target = storage::make_target(
      {.backend = storage::Backend::kNull, .block_bytes = std::uint64_t{16} << 20U, .queue_depth = 2}, clock);
  target->warm_up();
  EXPECT_GE(max_rss_bytes(), target->buffer_memory().size());
  EXPECT_GE(max_rss_bytes(), before);
}

}  // namespace
}  // namespace ckptsim::simulator
