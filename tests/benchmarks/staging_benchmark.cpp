// How fast archives are made into blocks: into one block again and again, as the backend null takes them, and
// into all blocks in turn, as a drive does that keeps some of them.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "simulator/engine/block_producer.h"
#include "storage/target/make_target.h"

namespace {

using namespace ckptsim;

class ArchiveSource final : public simulator::FileSource {
 public:
  explicit ArchiveSource(storage::torch::ArchiveStream stream) : stream_(std::move(stream)) {}
  std::size_t read(std::span<std::byte> out) override { return stream_.read(out); }
  [[nodiscard]] std::uint64_t file_bytes() const override { return stream_.file_bytes(); }
  [[nodiscard]] storage::torch::FileDigest digest() const override { return stream_.digest(); }

 private:
  storage::torch::ArchiveStream stream_;
};

void staging(benchmark::State& state) {
  const auto block_bytes = static_cast<std::uint64_t>(state.range(0));
  const auto kept = static_cast<std::size_t>(state.range(1));  // blocks that the drive has at any time
  const storage::SteadyClock clock;
  const auto target =
      storage::make_target({.backend = storage::Backend::kIoUring, .block_bytes = block_bytes}, clock);
  target->warm_up();
  const storage::torch::FileSpec file = {
      "benchmark.pt",
      {{"weight", storage::torch::TensorSpec{storage::torch::ScalarType::kBFloat16, {16384, 8192}}},
       {"iteration", std::int64_t{1}}}};
  std::uint64_t bytes = 0;
  for ([[maybe_unused]] auto iteration : state) {
    simulator::BlockProducer producer(1, [&](std::size_t) {
      return std::make_unique<ArchiveSource>(storage::torch::ArchiveStream(file, {}, 1, 1, 1));
    });
    std::deque<simulator::StagedBlock> taken;
    while (producer.produce(*target)) {
      while (auto block = producer.take(0)) {
        bytes += block->length;
        taken.push_back(std::move(*block));
        if (taken.size() > kept) taken.pop_front();
      }
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(staging)->ArgsProduct({{256 << 10, 1 << 20, 4 << 20}, {0, 4}})->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
