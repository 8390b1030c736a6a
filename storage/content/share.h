#pragma once

#include <cmath>
#include <cstdint>

namespace ckptsim::storage {

// A fraction from 0 to 1 as a whole number of 2^-30: what follows from it is the same on every machine, and
// the product of two fits into 64 bits.
inline constexpr std::uint64_t kWhole = std::uint64_t{1} << 30U;

[[nodiscard]] inline std::uint64_t share_of(double fraction) {
  return static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(kWhole)));
}

}  // namespace ckptsim::storage
