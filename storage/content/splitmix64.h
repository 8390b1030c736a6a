#pragma once

#include <cstdint>

namespace ckptsim::storage {

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
inline constexpr std::uint64_t kSplitMixIncrement = 0x9e3779b97f4a7c15;

// Its output function: a bijection of 64-bit words.
[[nodiscard]] constexpr std::uint64_t splitmix64_mix(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

// The value after `steps` increments of a generator whose state is `state`.
[[nodiscard]] constexpr std::uint64_t splitmix64_at(std::uint64_t state, std::uint64_t steps) {
  return splitmix64_mix(state + steps * kSplitMixIncrement);
}

}  // namespace ckptsim::storage
