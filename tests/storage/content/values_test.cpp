#include "storage/content/values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "storage/content/block_generator.h"

namespace ckptsim::storage {
namespace {

constexpr double kStandardDeviation = 0.02;
constexpr std::size_t kBlocks = 512;

std::vector<std::byte> raw(ValueKind kind, GenerateBlocks generate = fastest_block_generator().generate) {
  std::vector<std::byte> bytes(kBlocks * kContentBlockBytes);
  generate(7, 3, kBlocks, bytes.data());
  make_values(kind, bytes);
  return bytes;
}

template <typename Word>
std::vector<Word> words(const std::vector<std::byte>& bytes) {
  std::vector<Word> all(bytes.size() / sizeof(Word));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

std::vector<double> values(ValueKind kind) {
  std::vector<double> all;
  if (kind == ValueKind::kBFloat16) {
    for (const std::uint16_t word : words<std::uint16_t>(raw(kind))) {
      all.push_back(std::bit_cast<float>(std::uint32_t{word} << 16U));
    }
  } else {
    for (const std::uint32_t word : words<std::uint32_t>(raw(kind))) {
      all.push_back(std::bit_cast<float>(word));
    }
  }
  return all;
}

double moment(const std::vector<double>& all, int power) {
  double sum = 0;
  for (const double value : all) {
    sum += std::pow(value, power);
  }
  return sum / static_cast<double>(all.size());
}

// The largest distance between the distribution of `all` and the normal one.
double distance_from_normal(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  double largest = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double expected = (1 + std::erf(all[i] / (kStandardDeviation * std::sqrt(2.0)))) / 2;
    largest =
        std::max(largest, std::abs(expected - static_cast<double>(i) / static_cast<double>(all.size())));
  }
  return largest;
}

class Weights : public testing::TestWithParam<ValueKind> {};

TEST_P(Weights, AreFiniteAndNormal) {
  const std::vector<double> all = values(GetParam());
  EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](double value) { return std::isnormal(value); }));
  const double variance = moment(all, 2);
  EXPECT_NEAR(moment(all, 1), 0, 5 * kStandardDeviation / std::sqrt(static_cast<double>(all.size())));
  EXPECT_NEAR(std::sqrt(variance), kStandardDeviation, 0.01 * kStandardDeviation);
  EXPECT_NEAR(moment(all, 4) / (variance * variance), 3, 0.1);
  EXPECT_LT(distance_from_normal(all), 0.005);
  EXPECT_LT(*std::max_element(all.begin(), all.end()), 4 * kStandardDeviation);
}

INSTANTIATE_TEST_SUITE_P(Values, Weights, testing::Values(ValueKind::kBFloat16, ValueKind::kFloat32));

TEST(Values, NonNegativeOnesAreAHalfNormal) {
  const std::vector<double> all = values(ValueKind::kFloat32NonNegative);
  EXPECT_TRUE(
      std::all_of(all.begin(), all.end(), [](double value) { return std::isnormal(value) && value > 0; }));
  EXPECT_NEAR(std::sqrt(moment(all, 2)), std::ldexp(kStandardDeviation, -16),
              0.01 * std::ldexp(kStandardDeviation, -16));
}

TEST(Values, BytesStayAsTheyAre) {
  std::vector<std::byte> bytes(kBlocks * kContentBlockBytes);
  fastest_block_generator().generate(7, 3, kBlocks, bytes.data());
  EXPECT_EQ(raw(ValueKind::kBytes), bytes);
}

TEST(Values, AreTheSameOnEveryInstructionSet) {
  for (const BlockGenerator& generator : supported_block_generators()) {
    for (const ValueKind kind : {ValueKind::kBFloat16, ValueKind::kFloat32, ValueKind::kFloat32NonNegative}) {
      EXPECT_EQ(raw(kind, generator.generate), raw(kind)) << generator.instruction_set;
    }
  }
}

// Verification of an old checkpoint makes its content again: these bytes may never change.
TEST(Values, AreTheSameForever) {
  const std::vector<std::uint16_t> narrow = words<std::uint16_t>(raw(ValueKind::kBFloat16));
  const std::vector<std::uint32_t> wide = words<std::uint32_t>(raw(ValueKind::kFloat32));
  const std::vector<std::uint32_t> scales = words<std::uint32_t>(raw(ValueKind::kFloat32NonNegative));
  EXPECT_EQ(narrow[0], 48148);
  EXPECT_EQ(narrow[1], 48026);
  EXPECT_EQ(wide[0], 3155833044U);
  EXPECT_EQ(wide[1], 989504921U);
  EXPECT_EQ(scales[0], (wide[0] & 0x7fffffffU) - 0x08000000U);
}

}  // namespace
}  // namespace ckptsim::storage
