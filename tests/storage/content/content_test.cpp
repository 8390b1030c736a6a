#include "storage/content/content.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace ckptsim::storage {
namespace {

constexpr std::size_t kBlockBytes = 4096;

std::vector<std::byte> content_of(const ContentAddress& address, std::uint64_t offset, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  Content(address).fill(offset, out);
  return out;
}

ContentAddress example_address() {
  return {1, 2, 3, "layer_000-model_00-model_states.pt", 4};
}

// Verification of an old checkpoint makes its content again: these bytes may never change.
TEST(Content, IsTheSameForever) {
  const std::vector<std::byte> bytes = content_of(example_address(), 0, 16);
  const std::vector<std::uint8_t> expected = {0xc7, 0x34, 0xde, 0x38, 0x8c, 0x80, 0xc0, 0x5e,
                                              0x77, 0xed, 0x80, 0x01, 0x3e, 0x3c, 0x2c, 0x5c};
  const std::vector<std::byte> far = content_of(example_address(), (std::uint64_t{1} << 41) + 5, 8);
  const std::vector<std::uint8_t> expected_far = {0x2d, 0x25, 0x24, 0x66, 0x68, 0x98, 0x16, 0xaa};
  ASSERT_EQ(bytes.size(), expected.size());
  ASSERT_EQ(far.size(), expected_far.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]) << i;
  }
  for (std::size_t i = 0; i < far.size(); ++i) {
    EXPECT_EQ(std::to_integer<int>(far[i]), expected_far[i]) << i;
  }
}

TEST(Content, IsTheSameInPiecesOfAnySizeAtAnyPlace) {
  constexpr std::uint64_t start = (std::uint64_t{1} << 33) + 123;
  const std::vector<std::byte> at_once = content_of(example_address(), start, 40 * kBlockBytes + 77);
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::byte> pieces(at_once.size());
    const std::size_t longest = round % 2 == 0 ? 300 : 3 * kBlockBytes;
    for (std::size_t done = 0; done < pieces.size();) {
      const std::size_t bytes = std::min(pieces.size() - done, std::size_t{random() % longest});
      Content(example_address()).fill(start + done, std::span(pieces).subspan(done, bytes));
      done += bytes;
    }
    ASSERT_EQ(pieces, at_once) << "round " << round;
  }
}

TEST(Content, FillsNothingWhenNothingIsAskedFor) {
  std::byte byte{0xa5};
  Content(example_address()).fill(1, std::span(&byte, 0));
  EXPECT_EQ(byte, std::byte{0xa5});
}

TEST(Content, DoesNotCompress) {
  const std::vector<std::byte> bytes = content_of(example_address(), 0, std::size_t{1} << 20);
  uLongf compressed_bytes = compressBound(bytes.size());
  std::vector<Bytef> compressed(compressed_bytes);
  ASSERT_EQ(compress2(compressed.data(), &compressed_bytes, reinterpret_cast<const Bytef*>(bytes.data()),
                      bytes.size(), 1),
            Z_OK);
  EXPECT_GE(compressed_bytes, bytes.size());
}

TEST(Content, HasAllByteValuesEquallyOften) {
  constexpr std::size_t sample_bytes = std::size_t{1} << 20;
  std::vector<double> counts(256);
  for (const std::byte byte : content_of(example_address(), 0, sample_bytes)) {
    counts[std::to_integer<std::size_t>(byte)] += 1;
  }
  double chi_squared = 0;
  for (const double count : counts) {
    chi_squared += (count - sample_bytes / 256.0) * (count - sample_bytes / 256.0) / (sample_bytes / 256.0);
  }
  EXPECT_GT(chi_squared, 170.0);  // 255 degrees of freedom: mean 255, standard deviation 22.6
  EXPECT_LT(chi_squared, 340.0);
}

// Adds every 4 KiB block of a tensor; false when one of them was there before.
bool insert_blocks(std::set<std::string>& seen, const ContentAddress& address, std::size_t blocks) {
  const std::vector<std::byte> bytes = content_of(address, 0, blocks * kBlockBytes);
  bool all_new = true;
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto* begin = reinterpret_cast<const char*>(bytes.data() + block * kBlockBytes);
    // A quarter of the block stands for it: blocks that differ only elsewhere would count as repeated.
    all_new = seen.emplace(begin, begin + kBlockBytes / 4).second && all_new;
  }
  return all_new;
}

TEST(Content, NeverRepeatsABlockUnderAnotherAddress) {
  std::set<std::string> seen;
  constexpr std::size_t blocks_each = 8;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (std::uint64_t pass = 0; pass < 4; ++pass) {
      for (std::uint64_t checkpoint = 0; checkpoint < 4; ++checkpoint) {
        for (const char* file : {"a.pt", "b.pt", "ab.pt", "ba.pt"}) {
          for (std::uint64_t tensor = 0; tensor < 4; ++tensor) {
            ASSERT_TRUE(insert_blocks(seen, {seed, pass, checkpoint, file, tensor}, blocks_each))
                << seed << " " << pass << " " << checkpoint << " " << file << " " << tensor;
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), blocks_each * 4 * 4 * 4 * 4 * 4);
}

TEST(Content, NeverRepeatsABlockWithinATensor) {
  std::set<std::string> seen;
  EXPECT_TRUE(insert_blocks(seen, example_address(), 4096));
}

}  // namespace
}  // namespace ckptsim::storage
