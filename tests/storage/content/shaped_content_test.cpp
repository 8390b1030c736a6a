#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "storage/content/content.h"
#include "storage/content/fnv1a.h"

namespace ckptsim::storage {
namespace {

constexpr std::size_t kBlockBytes = 4096;
constexpr double kFractions[] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 1};

ContentAddress example_address(std::string_view file = "layer_000-model_00-model_states.pt") {
  return {1, 2, 3, file, 4};
}

std::string whole_tensor(const ContentSettings& settings, const ContentTensor& tensor,
                         const ContentAddress& address = example_address()) {
  std::string bytes(tensor.bytes, 'x');
  Content(address, settings, tensor).fill(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

using BlockCounts = std::unordered_map<std::size_t, int>;  // by hash

void count_blocks(BlockCounts& counts, const std::string& bytes, std::size_t first = 0) {
  for (std::size_t at = first; at + kBlockBytes <= bytes.size(); at += kBlockBytes) {
    ++counts[std::hash<std::string_view>()(std::string_view(bytes).substr(at, kBlockBytes))];
  }
}

double duplicate_share(const BlockCounts& counts) {
  double total = 0;
  for (const auto& [block, count] : counts) {
    total += count;
  }
  return 1 - static_cast<double>(counts.size()) / total;
}

double saved_by_zlib(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<Bytef> out(size);
  EXPECT_EQ(compress2(out.data(), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 1),
            Z_OK);
  return 1 - static_cast<double>(size) / static_cast<double>(bytes.size());
}

// (kind of content, of values, compressible, duplicate)
using Shape = std::tuple<ContentKind, ValueKind, double, double>;
class EveryShape : public testing::TestWithParam<Shape> {
 protected:
  [[nodiscard]] static ContentSettings settings() {
    const auto& [kind, values, compressible, duplicate] = GetParam();
    return {kind, compressible, duplicate};
  }
  [[nodiscard]] static ContentTensor tensor(std::uint64_t bytes) {
    return {std::get<ValueKind>(GetParam()), bytes, 17};
  }
};

TEST_P(EveryShape, IsTheSameInPiecesOfAnySizeAtAnyPlace) {
  const ContentTensor part = tensor(40 * kBlockBytes + 1236);
  const std::string at_once = whole_tensor(settings(), part);
  std::mt19937 random(1);
  for (const std::size_t longest : {std::size_t{300}, 3 * kBlockBytes, 41 * kBlockBytes}) {
    std::string pieces(at_once.size(), 'x');
    for (std::size_t done = 0; done < pieces.size();) {
      const std::size_t bytes = std::min(pieces.size() - done, std::size_t{random() % longest});
      Content(example_address(), settings(), part)
          .fill(done, std::as_writable_bytes(std::span(pieces)).subspan(done, bytes));
      done += bytes;
    }
    ASSERT_TRUE(pieces == at_once) << longest;
  }
}

TEST_P(EveryShape, RepeatsTheShareOfBlocksThatIsAskedForAlsoAtOddPlaces) {
  const double asked = std::get<3>(GetParam());
  for (const std::size_t first : {std::size_t{0}, std::size_t{64}, std::size_t{1732}}) {
    BlockCounts counts;
    for (const char* file : {"a.pt", "b.pt", "c.pt", "d.pt"}) {
      count_blocks(counts, whole_tensor(settings(), tensor(8192 * kBlockBytes), example_address(file)),
                   first);
    }
    EXPECT_NEAR(duplicate_share(counts), asked, asked > 0 ? 0.02 : 0.0) << first;
  }
}

INSTANTIATE_TEST_SUITE_P(ShapedContent, EveryShape,
                         testing::Values(Shape{ContentKind::kRandom, ValueKind::kBytes, 0, 0.1},
                                         Shape{ContentKind::kRandom, ValueKind::kBytes, 0.5, 0},
                                         Shape{ContentKind::kRandom, ValueKind::kBytes, 1, 0},
                                         Shape{ContentKind::kRandom, ValueKind::kBytes, 0.25, 0.75},
                                         Shape{ContentKind::kRandom, ValueKind::kBytes, 1, 1},
                                         Shape{ContentKind::kWeights, ValueKind::kBFloat16, 0, 0},
                                         Shape{ContentKind::kWeights, ValueKind::kBFloat16, 1, 0.25},
                                         Shape{ContentKind::kWeights, ValueKind::kFloat32, 0.5, 0.9},
                                         Shape{ContentKind::kWeights, ValueKind::kFloat32NonNegative, 0.9,
                                               0.5}));

TEST(ShapedContent, IsPlainlyRandomByDefaultWhateverTheTensor) {
  std::string plain(10 * kBlockBytes + 5, 'x');
  Content(example_address()).fill(0, std::as_writable_bytes(std::span(plain)));
  EXPECT_TRUE(whole_tensor({}, {ValueKind::kFloat32, plain.size(), 99}) == plain);
}

TEST(ShapedContent, CompressesAsFarAsIsAskedForInEverySmallChunk) {
  for (const double asked : kFractions) {
    const std::string bytes = whole_tensor({ContentKind::kRandom, asked, 0}, {{}, 64 * kBlockBytes, 0});
    EXPECT_NEAR(saved_by_zlib(bytes), asked, 0.02) << asked;
    for (const std::size_t first : {std::size_t{0}, std::size_t{64}, kBlockBytes * 3 / 2}) {
      EXPECT_NEAR(saved_by_zlib(bytes.substr(first, kBlockBytes)), asked, 0.03) << asked << " at " << first;
    }
  }
}

TEST(ShapedContent, CompressesSmallTensorsAsFar) {
  for (const double asked : {0.25, 0.5, 0.9}) {
    for (const std::uint64_t bytes : {1500U, 4095U, 5000U, 9000U}) {
      const std::string tensor = whole_tensor({ContentKind::kRandom, asked, 0}, {{}, bytes, 0});
      const auto zeros = static_cast<double>(std::count(tensor.begin(), tensor.end(), '\0'));
      EXPECT_NEAR(zeros / static_cast<double>(bytes), asked, 0.02) << bytes;
    }
  }
}

TEST(ShapedContent, WritesNothingButZerosIntoTheRun) {
  const std::string plain = whole_tensor({}, {{}, 3 * kBlockBytes, 0});
  const std::string shaped = whole_tensor({ContentKind::kRandom, 0.5, 0}, {{}, 3 * kBlockBytes, 0});
  for (std::size_t block = 0; block < 3; ++block) {
    const std::size_t kept = kBlockBytes / 2 - 16;
    EXPECT_EQ(shaped.substr(block * kBlockBytes, kept), plain.substr(block * kBlockBytes, kept));
    EXPECT_EQ(shaped.substr(block * kBlockBytes + kept, kBlockBytes - kept),
              std::string(kBlockBytes - kept, '\0'));
  }
}

TEST(ShapedContent, HitsEveryShareOfDuplicatesOverManySmallFiles) {
  for (const double asked : kFractions) {
    BlockCounts counts;
    for (int file = 0; file < 2000; ++file) {
      const std::string name = std::to_string(file);
      count_blocks(counts, whole_tensor({ContentKind::kRandom, 0, asked}, {{}, 20 * kBlockBytes + 100, 0},
                                        example_address(name)));
    }
    EXPECT_NEAR(duplicate_share(counts), asked, asked > 0 ? 0.02 : 0.0) << asked;
  }
}

TEST(ShapedContent, DoesNotShowItsDuplicatesToACompressorOfHalfAMebibyte) {
  const std::string bytes = whole_tensor({ContentKind::kRandom, 0, 0.9}, {{}, 1024 * kBlockBytes, 0});
  std::map<std::string, std::size_t> last;
  for (std::size_t at = 0; at < bytes.size(); at += kBlockBytes) {
    const std::string block = bytes.substr(at, kBlockBytes);
    if (const auto before = last.find(block); before != last.end()) {
      EXPECT_GE(at - before->second, std::size_t{1} << 20U);
    }
    last[block] = at;
  }
  EXPECT_LT(last.size(), 1024U);
}

// Verification of an old checkpoint makes its content again: these bytes may never change.
TEST(ShapedContent, IsTheSameForever) {
  const std::string random =
      whole_tensor({ContentKind::kRandom, 0.3, 0.4}, {ValueKind::kBytes, 300 * kBlockBytes + 700, 5});
  const std::string weights =
      whole_tensor({ContentKind::kWeights, 0.3, 0.4}, {ValueKind::kFloat32, 300 * kBlockBytes + 700, 5});
  EXPECT_EQ(fnv1a64(random), 1508044019320607214U);
  EXPECT_EQ(fnv1a64(weights), 10566106470406739943U);
}

}  // namespace
}  // namespace ckptsim::storage
