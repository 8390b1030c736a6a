#pragma once

#include <cstdint>

#include "storage/content/share.h"

namespace ckptsim::storage {

// Which blocks of a file repeat. The whole 4 KiB blocks of a file's tensors are counted through, and of every
// kRepeatPeriod of them the first ones come from a pool that all files of a run share. They are runs of
// consecutive blocks of the pool, so that they meet their like also where a file's payloads do not begin at
// multiples of 4 KiB: only the ends of a run are lost there. A block of the pool comes back in a file after
// kPoolBlocks (1 MiB) at the earliest, out of the sight of `zstd -1`, which looks back 512 KiB.
inline constexpr std::uint64_t kRepeatPeriod = 64;
inline constexpr std::uint64_t kPoolBlocks = 256;
static_assert(kPoolBlocks % kRepeatPeriod == 0, "a run is consecutive in the pool");

// Whether block `number` comes from the pool, when `share` (share.h) of all blocks do. A run of n blocks
// holds n repeated ones in an aligned file and n - 1 in another; half a block more puts both at the same
// distance from what was asked for, 0.8 %.
[[nodiscard]] constexpr bool is_repeated(std::uint64_t number, std::uint64_t share) {
  if (share == 0) {
    return false;
  }
  constexpr std::uint64_t different_periods = 65536;  // keeps the products below 2^64
  const std::uint64_t period = number / kRepeatPeriod % different_periods;
  const std::uint64_t run = kRepeatPeriod * share + kWhole / 2;  // in blocks, times kWhole
  const std::uint64_t blocks = (period + 1) * run / kWhole - period * run / kWhole;
  return number % kRepeatPeriod < blocks;
}

}  // namespace ckptsim::storage
