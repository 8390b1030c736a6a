// How long the pickle of a file takes, by its number of tensors.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include "storage/torch/archive_layout.h"
#include "storage/torch/pickle_writer.h"

namespace {

using namespace ckptsim::storage::torch;

FileSpec file_of(std::int64_t tensors) {
  FileSpec file{"benchmark.pt", {}};
  for (std::int64_t i = 0; i < tensors; ++i) {
    file.entries.push_back({"decoder.layers." + std::to_string(i) + ".self_attention.linear_qkv.weight",
                            TensorSpec{ScalarType::kBFloat16, {4608, 16384}}});
  }
  return file;
}

void writing_a_pickle(benchmark::State& state) {
  const FileSpec file = file_of(state.range(0));
  for ([[maybe_unused]] auto iteration : state)
    benchmark::DoNotOptimize(write_pickle(file));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(writing_a_pickle)->Arg(10)->Arg(1000)->Unit(benchmark::kMicrosecond);

void laying_out_an_archive(benchmark::State& state) {
  const FileSpec file = file_of(state.range(0));
  for ([[maybe_unused]] auto iteration : state)
    benchmark::DoNotOptimize(lay_out_archive(file, {}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(laying_out_an_archive)->Arg(10)->Arg(1000)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
