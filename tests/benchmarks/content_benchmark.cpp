// How fast each instruction set makes tensor content in cache.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/content/block_generator.h"

namespace {

using ckptsim::storage::BlockGenerator;
using ckptsim::storage::kContentBlockBytes;

void generate_256_kib(benchmark::State& state, const BlockGenerator& generator) {
  constexpr std::size_t kBlocks = 64;
  std::vector<std::byte> buffer(kBlocks * kContentBlockBytes);
  std::uint64_t first_block = 0;
  for ([[maybe_unused]] auto iteration : state) {
    generator.generate(1, first_block, kBlocks, buffer.data());
    benchmark::DoNotOptimize(buffer.data());
    benchmark::ClobberMemory();
    first_block += kBlocks;
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(buffer.size()));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const BlockGenerator& generator : ckptsim::storage::supported_block_generators()) {
    const std::string name = std::string("generate_256_kib/") + generator.instruction_set;
    benchmark::RegisterBenchmark(name.c_str(), generate_256_kib, generator);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
