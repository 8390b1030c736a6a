// How fast a CRC is taken of bytes that were just made: in a core's first-level cache, in its second, and of
// memory; and what joining two CRCs costs.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/torch/crc32.h"

namespace {

using namespace ckptsim::storage::torch;

void crc_of_cached_bytes(benchmark::State& state) {
  const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  std::uint32_t crc = 0;
  for ([[maybe_unused]] auto iteration : state) {
    crc = crc32(crc, bytes);
    benchmark::DoNotOptimize(crc);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(crc_of_cached_bytes)->Arg(8 << 10)->Arg(256 << 10)->Arg(64 << 20);

void joining_two_crcs(benchmark::State& state) {
  std::uint32_t crc = 1;
  for ([[maybe_unused]] auto iteration : state) {
    crc = crc32_combine(crc, 0x12345678, 872'415'232);
    benchmark::DoNotOptimize(crc);
  }
}
BENCHMARK(joining_two_crcs);

}  // namespace

BENCHMARK_MAIN();
