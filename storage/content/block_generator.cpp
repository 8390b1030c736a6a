#include "storage/content/block_generator.h"

#include <bit>
#include <cstring>

#include "storage/content/splitmix64.h"

namespace ckptsim::storage {
namespace {

static_assert(std::endian::native == std::endian::little, "content is defined as little-endian words");

constexpr std::size_t kStepBytes = kGeneratorsPerBlock * sizeof(std::uint64_t);

using Vector128 = std::uint64_t __attribute__((vector_size(16)));

// One source for every instruction set: inlined into functions that differ only in their target, with the
// widest vector that each has. The loops over vectors have constant bounds and vanish; a loop over scalars
// would leave it to the optimiser whether the state stays in registers.
template <typename Vector>
[[gnu::always_inline]] inline void generate_blocks(std::uint64_t key, std::uint64_t first_block,
                                                   std::size_t blocks, std::byte* out) {
  constexpr std::size_t vectors = kStepBytes / sizeof(Vector);
  const std::uint64_t second_key = splitmix64_mix(~key);
  for (std::size_t block = 0; block < blocks; ++block) {
    std::uint64_t first_words[kGeneratorsPerBlock];
    std::uint64_t second_words[kGeneratorsPerBlock];
    for (std::size_t generator = 0; generator < kGeneratorsPerBlock; ++generator) {
      const std::uint64_t steps = (first_block + block) * kGeneratorsPerBlock + generator + 1;
      first_words[generator] = splitmix64_at(key, steps);
      second_words[generator] = splitmix64_at(second_key, steps);
    }
    Vector first[vectors];
    Vector second[vectors];
    std::memcpy(first, first_words, kStepBytes);
    std::memcpy(second, second_words, kStepBytes);
    for (std::size_t step = 0; step < kContentBlockBytes / kStepBytes; ++step) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) {
        Vector x = first[v];
        const Vector y = second[v];
        x ^= x << 23;
        first[v] = y;
        second[v] = x ^ y ^ (x >> 17) ^ (y >> 26);
        const Vector sum = second[v] + y;
        std::memcpy(out + v * sizeof(Vector), &sum, sizeof(Vector));
      }
      out += kStepBytes;
    }
  }
}

void generate_portable(std::uint64_t key, std::uint64_t first_block, std::size_t blocks, std::byte* out) {
  generate_blocks<Vector128>(key, first_block, blocks, out);
}

#if defined(__x86_64__)
using Vector256 = std::uint64_t __attribute__((vector_size(32)));
using Vector512 = std::uint64_t __attribute__((vector_size(64)));

[[gnu::target("avx2")]] void generate_avx2(std::uint64_t key, std::uint64_t first_block, std::size_t blocks,
                                           std::byte* out) {
  generate_blocks<Vector256>(key, first_block, blocks, out);
}

[[gnu::target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")]] void generate_avx512(
    std::uint64_t key, std::uint64_t first_block, std::size_t blocks, std::byte* out) {
  generate_blocks<Vector512>(key, first_block, blocks, out);
}
#endif

}  // namespace

std::vector<BlockGenerator> supported_block_generators() {
  std::vector<BlockGenerator> generators;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    generators.push_back({"avx512", generate_avx512});
  }
  if (__builtin_cpu_supports("avx2")) {
    generators.push_back({"avx2", generate_avx2});
  }
#endif
  generators.push_back({"portable", generate_portable});
  return generators;
}

const BlockGenerator& fastest_block_generator() {
  static const BlockGenerator fastest = supported_block_generators().front();
  return fastest;
}

}  // namespace ckptsim::storage
