// How fast each instruction set makes random bytes in cache, and how fast tensors that are more than that are
// made.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/content/block_generator.h"
#include "storage/content/content.h"

namespace {

using ckptsim::storage::BlockGenerator;
using ckptsim::storage::Content;
using ckptsim::storage::ContentKind;
using ckptsim::storage::ContentSettings;
using ckptsim::storage::kContentBlockBytes;
using ckptsim::storage::ValueKind;

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

void fill_256_kib(benchmark::State& state, const ContentSettings& settings, ValueKind values) {
  constexpr std::uint64_t kTensorBytes = std::uint64_t{1} << 40;
  const Content content({1, 1, 1, "benchmark.pt", 0}, settings, {values, kTensorBytes, 0});
  std::vector<std::byte> buffer(64 * kContentBlockBytes);
  std::uint64_t offset = 0;
  for ([[maybe_unused]] auto iteration : state) {
    content.fill(offset, buffer);
    benchmark::DoNotOptimize(buffer.data());
    benchmark::ClobberMemory();
    offset += buffer.size();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(buffer.size()));
}

void register_fills() {
  constexpr ContentKind random = ContentKind::kRandom;
  constexpr ContentKind weights = ContentKind::kWeights;
  const auto add = [](const char* name, const ContentSettings& settings, ValueKind values) {
    benchmark::RegisterBenchmark(name, fill_256_kib, settings, values);
  };
  add("fill_256_kib/random", {random, 0, 0}, ValueKind::kBytes);
  add("fill_256_kib/compressible", {random, 0.5, 0}, ValueKind::kBytes);
  add("fill_256_kib/duplicates", {random, 0, 0.5}, ValueKind::kBytes);
  add("fill_256_kib/weights_bfloat16", {weights, 0, 0}, ValueKind::kBFloat16);
  add("fill_256_kib/weights_float32", {weights, 0, 0}, ValueKind::kFloat32);
  add("fill_256_kib/weights_float32_non_negative", {weights, 0, 0}, ValueKind::kFloat32NonNegative);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const BlockGenerator& generator : ckptsim::storage::supported_block_generators()) {
    const std::string name = std::string("generate_256_kib/") + generator.instruction_set;
    benchmark::RegisterBenchmark(name.c_str(), generate_256_kib, generator);
  }
  register_fills();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
