#include "simulator/engine/block_producer.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "tests/simulator/engine/virtual_target.h"

namespace ckptsim::simulator {
namespace {

using testing::CountingSource;
using testing::VirtualClock;
using testing::VirtualTarget;

TEST(BlockProducer, CutsFilesIntoPaddedBlocksWithTheirBytes) {
  VirtualClock clock;
  VirtualTarget target(clock, {}, 4096, 8, 512);
  const std::vector<std::uint64_t> sizes = {4096 + 100, 4096, 1};
  BlockProducer producer(sizes.size(), [&](std::size_t file) {
    return std::make_unique<CountingSource>(sizes[file], nullptr, storage::Clock::Time{0});
  });
  while (producer.produce(target))
    continue;

  std::vector<StagedBlock> blocks;
  for (std::size_t file = 0; file < sizes.size(); ++file) {
    while (std::optional<StagedBlock> block = producer.take(file))
      blocks.push_back(std::move(*block));
  }
  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_EQ(blocks[1].offset, 4096U);
  EXPECT_EQ(blocks[1].length, 100U);
  EXPECT_EQ(blocks[1].padded_length, 512U);
  EXPECT_TRUE(blocks[1].last);
  EXPECT_EQ(blocks[1].buffer.bytes()[99], static_cast<std::byte>((4096 + 99) & 0xff));
  EXPECT_EQ(blocks[1].buffer.bytes()[100], std::byte{0});
  EXPECT_EQ(blocks[1].buffer.bytes()[511], std::byte{0});
  EXPECT_FALSE(blocks[0].last);
  EXPECT_TRUE(blocks[2].last) << "a file that fills its last block ends with it";
  EXPECT_EQ(blocks[3].length, 1U);
  EXPECT_EQ(producer.digests().size(), 3U);
}

TEST(BlockProducer, StopsWhenBuffersRunOutAndGoesOnWhenOneComesBack) {
  VirtualClock clock;
  VirtualTarget target(clock, {}, 4096, 1, 512);  // three buffers
  BlockProducer producer(1, [](std::size_t) {
    return std::make_unique<CountingSource>(10 * 4096, nullptr, storage::Clock::Time{0});
  });
  while (producer.produce(target))
    continue;
  std::optional<StagedBlock> block = producer.take(0);
  ASSERT_TRUE(block.has_value());
  EXPECT_FALSE(producer.produce(target));
  block.reset();
  EXPECT_TRUE(producer.produce(target));
}

TEST(BlockProducer, HandsOutABlockOnlyToItsOwnFile) {
  VirtualClock clock;
  VirtualTarget target(clock, {}, 4096, 4, 512);
  BlockProducer producer(
      2, [](std::size_t) { return std::make_unique<CountingSource>(10, nullptr, storage::Clock::Time{0}); });
  while (producer.produce(target))
    continue;
  EXPECT_FALSE(producer.take(1).has_value());
  EXPECT_TRUE(producer.take(0).has_value());
  EXPECT_TRUE(producer.take(1).has_value());
}

}  // namespace
}  // namespace ckptsim::simulator
