#pragma once

#include <cstdint>

namespace ckptsim::storage {

// Where a write goes on after the system took `count` (> 0) more bytes than the `done` before. Direct I/O has
// to go on at a multiple of the alignment, so an odd end is written again. Where not even one multiple was
// taken, it goes on where the system stopped: writing the same bytes again would end the same way for ever,
// and this way the system gives its reason (a full drive above all).
[[nodiscard]] constexpr std::uint64_t continue_at(std::uint64_t done, std::uint64_t count,
                                                  std::uint64_t alignment) {
  const std::uint64_t taken = done + count;
  const std::uint64_t aligned = taken - taken % alignment;
  return aligned > done ? aligned : taken;
}

// Whether a read of which the system gave `count` bytes is over before it has all it asked for: the file ends
// there. Direct I/O gives less than a multiple of the alignment nowhere else, and could not go on from there.
[[nodiscard]] constexpr bool read_met_the_end(std::uint64_t count, std::uint64_t alignment) {
  return count == 0 || count % alignment != 0;
}

}  // namespace ckptsim::storage
