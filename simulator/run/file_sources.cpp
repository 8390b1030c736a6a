#include "simulator/run/file_sources.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "simulator/plan/content_settings.h"
#include "simulator/plan/plan.h"
#include "simulator/run/target_options.h"
#include "storage/libtorch/libtorch_stream.h"

namespace ckptsim::simulator {
namespace {

// An ArchiveStream or a LibtorchStream.
template <typename Stream>
class StreamSource final : public FileSource {
 public:
  template <typename... Arguments>
  explicit StreamSource(Arguments&&... arguments) : stream_(std::forward<Arguments>(arguments)...) {}
  [[nodiscard]] Stream& stream() { return stream_; }
  std::size_t read(std::span<std::byte> out) override { return stream_.read(out); }
  [[nodiscard]] std::uint64_t file_bytes() const override { return stream_.file_bytes(); }
  [[nodiscard]] storage::torch::FileDigest digest() const override { return stream_.digest(); }

 private:
  Stream stream_;
};

}  // namespace

FileSources::FileSources(const RunConfig& config, std::int64_t rank, const storage::libtorch::Module* module,
                         const storage::Clock& clock)
    : config_(config), module_(module), clock_(clock) {
  if (module_ == nullptr) return;
  std::uint64_t largest = 1;
  for (const storage::torch::FileSpec& file : file_specs(config_, rank, iteration_of(0)))
    largest = std::max(largest, storage::libtorch::largest_tensor_bytes(file));
  tensor_memory_ = std::make_unique<storage::BufferPool>(1, largest, huge_pages_of(config_));
  std::memset(tensor_memory_->memory().data(), 0, tensor_memory_->memory().size());
}

std::unique_ptr<FileSource> FileSources::open(const storage::torch::FileSpec& file,
                                              std::uint64_t content_pass, std::uint64_t checkpoint,
                                              storage::torch::MakingSample* sample) const {
  if (module_ == nullptr) {
    auto source = std::make_unique<StreamSource<storage::torch::ArchiveStream>>(
        file, archive_options(config_), config_.content_seed, content_pass, checkpoint,
        content_settings(config_));
    if (sample != nullptr) source->stream().sample(clock_, *sample);
    return source;
  }
  auto source = std::make_unique<StreamSource<storage::libtorch::LibtorchStream>>(
      *module_, file, config_.content_seed, content_pass, checkpoint, tensor_memory_->memory(),
      content_settings(config_));
  if (sample != nullptr) source->stream().sample(clock_, *sample);
  return source;
}

}  // namespace ckptsim::simulator
