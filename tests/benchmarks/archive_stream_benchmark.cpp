// How fast one thread makes an archive, CRCs included, in pieces as the engine asks for them.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/torch/archive_stream.h"

namespace {

using namespace ckptsim::storage::torch;

void read_archive_stream(benchmark::State& state) {
  const FileSpec file = {
      "benchmark.pt",
      {{"weight", TensorSpec{ScalarType::kBFloat16, {16384, 8192}}}, {"iteration", std::int64_t{1}}}};
  std::vector<std::byte> piece(static_cast<std::size_t>(state.range(0)));
  std::uint64_t bytes = 0;
  for ([[maybe_unused]] auto iteration : state) {
    ArchiveStream stream(file, ArchiveOptions{}, 1, 1, 1);
    while (!stream.finished()) {
      bytes += stream.read(piece);
    }
    benchmark::DoNotOptimize(stream.digest().crc32);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(read_archive_stream)->Arg(64 << 10)->Arg(4 << 20)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
