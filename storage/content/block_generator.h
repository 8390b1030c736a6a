#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ckptsim::storage {

// The random content of one tensor is a row of blocks, each a pure function of (key, block number).
//
// A block is eight xorshift128+ generators side by side (Vigna, "Further scramblings of Marsaglia's xorshift
// generators", 2017; shifts 23, 17, 26). Step s yields 64 bytes: one little-endian word of each generator, in
// order. Generator g of block b begins in the state
//     splitmix64_at(key, 8 b + g + 1),  splitmix64_at(splitmix64_mix(~key), 8 b + g + 1).
// For one key the first word alone tells blocks apart; for two keys both halves must meet at once.
inline constexpr std::size_t kContentBlockBytes = 4096;
inline constexpr std::size_t kGeneratorsPerBlock = 8;

// Writes blocks [first_block, first_block + blocks) to `out`, which needs no alignment.
using GenerateBlocks = void (*)(std::uint64_t key, std::uint64_t first_block, std::size_t blocks,
                                std::byte* out);

struct BlockGenerator {
  const char* instruction_set;
  GenerateBlocks generate;
};

// Every variant that this CPU can run, fastest first; all write the same bytes. Never empty.
[[nodiscard]] std::vector<BlockGenerator> supported_block_generators();

// The fastest of them, chosen once.
[[nodiscard]] const BlockGenerator& fastest_block_generator();

}  // namespace ckptsim::storage
