#include "storage/content/block_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace ckptsim::storage {

// What the test runner shows; without it, the address of a function, which differs from run to run.
std::ostream& operator<<(std::ostream& out, const BlockGenerator& generator) {
  return out << generator.instruction_set;
}

namespace {

// The definition in block_generator.h once more, one byte at a time.
class SlowGenerator {
 public:
  SlowGenerator(std::uint64_t key, std::uint64_t block, std::uint64_t generator) {
    const std::uint64_t steps = 8 * block + generator + 1;
    first_ = mix(key + steps * 0x9e3779b97f4a7c15);
    second_ = mix(mix(~key) + steps * 0x9e3779b97f4a7c15);
  }

  std::uint64_t next() {
    std::uint64_t x = first_;
    const std::uint64_t y = second_;
    first_ = y;
    x ^= x << 23;
    second_ = x ^ y ^ (x >> 17) ^ (y >> 26);
    return second_ + y;
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t first_ = 0;
  std::uint64_t second_ = 0;
};

std::vector<std::byte> slow_blocks(std::uint64_t key, std::uint64_t first_block, std::size_t blocks) {
  std::vector<std::byte> bytes;
  for (std::size_t block = 0; block < blocks; ++block) {
    std::vector<SlowGenerator> generators;
    for (std::uint64_t generator = 0; generator < 8; ++generator) {
      generators.emplace_back(key, first_block + block, generator);
    }
    for (int step = 0; step < 64; ++step) {
      for (SlowGenerator& generator : generators) {
        const std::uint64_t word = generator.next();
        for (int byte = 0; byte < 8; ++byte) {
          bytes.push_back(static_cast<std::byte>(word >> (8 * byte)));
        }
      }
    }
  }
  return bytes;
}

class EveryInstructionSet : public testing::TestWithParam<BlockGenerator> {};

TEST_P(EveryInstructionSet, WritesTheDefinedBytes) {
  for (const std::uint64_t key :
       {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{0x1234567}}) {
    for (const std::uint64_t first_block : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{1} << 40}) {
      std::vector<std::byte> blocks(3 * kContentBlockBytes);
      GetParam().generate(key, first_block, 3, blocks.data());
      EXPECT_EQ(blocks, slow_blocks(key, first_block, 3));
    }
  }
}

TEST_P(EveryInstructionSet, NeedsNoAlignmentAndWritesNothingElse) {
  constexpr auto untouched = std::byte{0xa5};
  for (std::size_t shift = 0; shift < 64; shift += 7) {
    std::vector<std::byte> buffer(2 * kContentBlockBytes + 128, untouched);
    GetParam().generate(5, 9, 2, buffer.data() + shift);
    std::vector<std::byte> expected(buffer.size(), untouched);
    const std::vector<std::byte> blocks = slow_blocks(5, 9, 2);
    std::copy(blocks.begin(), blocks.end(), expected.begin() + static_cast<std::ptrdiff_t>(shift));
    EXPECT_EQ(buffer, expected);
  }
}

TEST_P(EveryInstructionSet, WritesNothingForNoBlocks) {
  std::byte byte{0xa5};
  GetParam().generate(5, 9, 0, &byte);
  EXPECT_EQ(byte, std::byte{0xa5});
}

std::string instruction_set_of(const testing::TestParamInfo<BlockGenerator>& tested) {
  return tested.param.instruction_set;
}
INSTANTIATE_TEST_SUITE_P(BlockGenerator, EveryInstructionSet, testing::ValuesIn(supported_block_generators()),
                         instruction_set_of);

TEST(BlockGenerator, ChoosesTheFastestThatTheProcessorHas) {
  EXPECT_EQ(fastest_block_generator().generate, supported_block_generators().front().generate);
}

}  // namespace
}  // namespace ckptsim::storage
