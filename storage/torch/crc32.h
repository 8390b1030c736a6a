#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ckptsim::storage::torch {

// zip's CRC-32 (IEEE 802.3, reflected) of `bytes`, going on from the CRC of the bytes before them; 0 to
// begin.
[[nodiscard]] std::uint32_t crc32(std::uint32_t before, std::span<const std::byte> bytes);

// The CRC of two byte strings one after the other, from the CRC of each and the length of the second.
[[nodiscard]] std::uint32_t crc32_combine(std::uint32_t first, std::uint32_t second,
                                          std::uint64_t second_bytes);

}  // namespace ckptsim::storage::torch
