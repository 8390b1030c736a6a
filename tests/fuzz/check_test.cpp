#include "tests/fuzz/check.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fuzz/heap_meter.h"

namespace ckptsim::fuzz {

const MemoryLimit kMemoryLimit = {2, 1000};

// Holds as many bytes as the input says, twice, one after the other.
bool check(std::span<const std::byte> input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  for (int round = 0; round < 2; ++round) {
    const std::vector<char> held(std::stoul(text));
    require(held.size() < 1'000'000, "no request is that large");
  }
  return true;
}

namespace {

bool checked(const std::string& text) {
  return check_within_memory(std::as_bytes(std::span(text)));
}

TEST(HeapMeter, CountsWhatIsHeldAtOnce) {
  EXPECT_LT(heap_growth_of([] {}), 100U);
  const std::size_t once = heap_growth_of([] { const std::vector<char> held(100'000); });
  EXPECT_GE(once, 100'000U);
  EXPECT_LT(once, 101'000U);
  const std::size_t one_after_the_other = heap_growth_of([] {
    for (int i = 0; i < 5; ++i)
      const std::vector<char> held(100'000);
  });
  EXPECT_LT(one_after_the_other, 101'000U);
}

TEST(FuzzCheck, HoldsTheHeapAgainstTheInputsSize) {
  EXPECT_TRUE(checked("900"));
  EXPECT_TRUE(checked("900" + std::string(2000, ' ')));
  EXPECT_TRUE(checked("2500" + std::string(2000, ' ')));
  EXPECT_DEATH((void)checked("2500"), "bytes on the heap for an input of 4 bytes; at most 1008 are allowed");
}

TEST(FuzzCheck, EndsWithTheWordsOfABrokenPromise) {
  EXPECT_DEATH((void)checked("2000000"), "a promise is broken: no request is that large");
}

TEST(FuzzCheck, ARefusalIsShortAndPrintable) {
  require_short_and_printable("archive.pt: at 0: no");
  EXPECT_DEATH(require_short_and_printable("\x1b[2J"), "a refusal is printable");
  EXPECT_DEATH(require_short(std::string(10'000, 'x')), "a refusal is short");
}

}  // namespace
}  // namespace ckptsim::fuzz
