#include "storage/content/values.h"

#include <array>
#include <cstring>

#include "storage/content/share.h"

namespace ckptsim::storage {
namespace {

constexpr std::size_t kCells = 2048;  // chosen among by the lowest eleven bits
constexpr std::uint64_t kCellMask = kCells - 1;
constexpr unsigned kCellBits = 11;
constexpr double kStandardDeviation = 0.02;

// erf by its power series, good to 1e-8 for |x| < 4.5. Evaluated by the compiler, which rounds every
// operation as IEEE 754 says: no mathematics library, whose last digit could be another one, has a part.
constexpr double error_function(double x) {
  constexpr double two_over_root_pi = 1.1283791670955126;
  double power = x;  // (-1)^k x^(2k+1) / k!
  double sum = x;
  for (int k = 1; k < 90; ++k) {
    power *= -x * x / k;
    sum += power / (2 * k + 1);
  }
  return two_over_root_pi * sum;
}

// Cell c has the exponent c / 8 and the upper three bits c % 8 of the fraction of a bfloat16 (or float32).
constexpr double lower_edge(std::size_t cell) {
  double edge = 1.0 + static_cast<double>(cell % 8) / 8;
  for (std::size_t exponent = cell / 8; exponent < 127; ++exponent) {
    edge /= 2;
  }
  return edge;
}

// As many entries for each cell as its probability under the normal distribution asks for. An entry is a
// bfloat16 without its sign and its last four bits.
constexpr std::array<std::uint16_t, kCells> make_cells() {
  constexpr double root_2 = 1.4142135623730951;
  std::array<std::uint16_t, kCells> cells{};
  std::size_t filled = 0;
  for (std::size_t cell = std::size_t{108} * 8; cell < std::size_t{124} * 8; ++cell) {
    const double below = error_function(lower_edge(cell + 1) / (kStandardDeviation * root_2));
    const std::size_t until = (static_cast<std::size_t>(2 * kCells * below) + 1) / 2;  // rounded
    for (; filled < until; ++filled) {
      cells[filled] = static_cast<std::uint16_t>(cell << 4U);
    }
  }
  return cells;
}

constexpr std::array<std::uint16_t, kCells> kCellValues = make_cells();
static_assert(kCellValues.front() > 0 && kCellValues.back() > 0, "every entry has its cell");

std::uint64_t cell_value(std::uint64_t bits) {
  return kCellValues[bits & kCellMask];
}

// Four elements a word.
std::uint64_t four_bfloat16(std::uint64_t word) {
  constexpr std::uint64_t low_fraction = 0x000f000f000f000f;
  constexpr std::uint64_t signs = 0x8000800080008000;
  const std::uint64_t cells = cell_value(word) | cell_value(word >> 16U) << 16U |
                              cell_value(word >> 32U) << 32U | cell_value(word >> 48U) << 48U;
  return cells | ((word >> kCellBits) & low_fraction) | (word & signs);
}

// Two elements a word.
std::uint64_t two_float32(std::uint64_t word) {
  constexpr std::uint64_t low_fraction = 0x000fffff000fffff;
  constexpr std::uint64_t signs = 0x8000000080000000;
  const std::uint64_t cells = cell_value(word) << 16U | cell_value(word >> 32U) << 48U;
  return cells | ((word >> kCellBits) & low_fraction) | (word & signs);
}

std::uint64_t two_float32_non_negative(std::uint64_t word) {
  constexpr std::uint64_t without_signs = 0x7fffffff7fffffff;
  constexpr std::uint64_t sixteen_powers_of_two = 0x0800000008000000;
  return (two_float32(word) & without_signs) - sixteen_powers_of_two;
}

template <std::uint64_t (*Convert)(std::uint64_t)>
void convert_words(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    word = Convert(word);
    std::memcpy(bytes.data() + at, &word, sizeof(word));
  }
}

}  // namespace

void make_values(ValueKind kind, std::span<std::byte> bytes) {
  switch (kind) {
    case ValueKind::kBytes:
      return;
    case ValueKind::kBFloat16:
      return convert_words<four_bfloat16>(bytes);
    case ValueKind::kFloat32:
      return convert_words<two_float32>(bytes);
    case ValueKind::kFloat32NonNegative:
      return convert_words<two_float32_non_negative>(bytes);
  }
}

// Measured; tests/e2e/content_test.py holds them.
std::uint64_t own_compressible_share(ValueKind kind) {
  switch (kind) {
    case ValueKind::kBytes:
      return 0;
    case ValueKind::kBFloat16:
      return kWhole * 220 / 1000;
    case ValueKind::kFloat32:
      return kWhole * 74 / 1000;
    case ValueKind::kFloat32NonNegative:
      return kWhole * 100 / 1000;
  }
  return 0;
}

}  // namespace ckptsim::storage
