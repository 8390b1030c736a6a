#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "storage/content/block_generator.h"
#include "storage/content/share.h"

namespace ckptsim::storage {

// How many bytes of a block stay as they are, whatever is asked for, so that blocks differ from one another:
// 32 of a whole block, at least 8 of a part of one.
[[nodiscard]] constexpr std::size_t least_bytes_before_zeros(std::size_t block_bytes) {
  constexpr std::size_t of_a_whole_block = 32;
  return std::max(std::size_t{8}, block_bytes * of_a_whole_block / kContentBlockBytes);
}

// How many zeros a block of `block_bytes` ends with, so that a compressor takes `share` (share.h) of its
// bytes away, of which the values themselves already yield `own_share`: a multiple of four, so that no
// element is cut. Up to 16 more than the share asks for: what finding and describing a run costs `zstd -1`.
[[nodiscard]] constexpr std::size_t zero_run_bytes(std::size_t block_bytes, std::uint64_t share,
                                                   std::uint64_t own_share) {
  const std::size_t kept = least_bytes_before_zeros(block_bytes);
  if (share <= own_share || block_bytes <= kept) {
    return 0;
  }
  constexpr std::size_t cost_of_a_run = 16;
  const std::uint64_t rest = (share - own_share) * kWhole / (kWhole - own_share);
  const auto asked = static_cast<std::size_t>(block_bytes * rest / kWhole);
  return std::min(asked + std::min(cost_of_a_run, asked), block_bytes - kept) / 4 * 4;
}

}  // namespace ckptsim::storage
