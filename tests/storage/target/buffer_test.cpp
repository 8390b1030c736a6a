#include "storage/target/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "storage/errors.h"

namespace ckptsim::storage {
namespace {

TEST(BufferPool, HandsOutEachBlockOnceAndThenNone) {
  BufferPool pool(3, 8192);
  std::vector<Buffer> taken;
  std::set<unsigned> numbers;
  for (int i = 0; i < 3; ++i) {
    taken.push_back(pool.take());
    ASSERT_TRUE(taken.back().valid());
    numbers.insert(taken.back().index());
  }
  EXPECT_EQ(numbers, (std::set<unsigned>{0, 1, 2}));
  EXPECT_FALSE(pool.take().valid());
}

TEST(BufferPool, BlocksLieOneAfterAnotherInItsMemoryAndCanBeWritten) {
  BufferPool pool(4, 5000);  // no multiple of a page
  EXPECT_EQ(pool.memory().size(), 4 * 5000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.memory().data()) % 4096, 0U);
  for (int i = 0; i < 4; ++i) {
    const Buffer buffer = pool.take();
    EXPECT_EQ(buffer.bytes().data(), pool.memory().data() + std::size_t{5000} * buffer.index());
    EXPECT_EQ(buffer.bytes().size(), 5000U);
    std::memset(buffer.bytes().data(), i, buffer.bytes().size());
  }
}

TEST(BufferPool, GetsABlockBackWhenItsOwnerGoes) {
  BufferPool pool(1, 4096);
  { const Buffer buffer = pool.take(); }
  EXPECT_TRUE(pool.take().valid());
}

TEST(BufferPool, AMovedBufferIsGivenBackOnce) {
  BufferPool pool(2, 4096);
  Buffer first = pool.take();
  Buffer second = std::move(first);
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move): what moving
                                // leaves behind is the question
  EXPECT_TRUE(second.valid());
  second = Buffer();
  EXPECT_TRUE(pool.take().valid());
  const Buffer a = pool.take();
  const Buffer b = pool.take();
  EXPECT_NE(a.index(), b.index());
  EXPECT_FALSE(pool.take().valid());
}

TEST(BufferPool, AssigningOverABufferGivesTheOldBlockBack) {
  BufferPool pool(2, 4096);
  Buffer held = pool.take();
  const unsigned old = held.index();
  held = pool.take();
  EXPECT_NE(held.index(), old);
  EXPECT_EQ(pool.take().index(), old);
}

TEST(BufferPool, SaysWhenTheMemoryCannotBeHad) {
  EXPECT_THROW(BufferPool(2, std::numeric_limits<std::uint64_t>::max() / 4), std::system_error);
}

TEST(BufferPool, ReservedHugePagesAreHadOrTheRefusalSaysHowMany) {
  try {
    const BufferPool pool(2, std::uint64_t{3} << 20U, HugePages::kOn);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.memory().data()) % (2U << 20U), 0U);
    std::memset(pool.memory().data(), 1, pool.memory().size());
  } catch (const UnsuitableTarget& refusal) {
    EXPECT_THAT(refusal.what(), testing::HasSubstr("3 huge pages of 2 MiB"));
    EXPECT_THAT(refusal.what(), testing::HasSubstr("vm.nr_hugepages"));
  }
}

TEST(BufferPool, WithoutHugePagesItsMemoryIsUsableAllTheSame) {
  const BufferPool pool(2, 8192, HugePages::kOff);
  std::memset(pool.memory().data(), 1, pool.memory().size());
  EXPECT_EQ(pool.memory()[16383], std::byte{1});
}

TEST(BufferPoolDeathTest, HoldsAtLeastOneByte) {
  EXPECT_DEATH(BufferPool(0, 4096), "at least one buffer");
  EXPECT_DEATH(BufferPool(1, 0), "at least one byte");
}

}  // namespace
}  // namespace ckptsim::storage
