#pragma once

#include <cstdint>
#include <memory>

#include "simulator/config/run_config.h"
#include "simulator/engine/block_producer.h"
#include "storage/libtorch/module_interface.h"
#include "storage/target/buffer.h"
#include "storage/torch/archive_stream.h"
#include "storage/torch/file_spec.h"

namespace ckptsim::simulator {

// Makes the sources of one rank's files: by this program's own writer, or by LibTorch's where its module is
// given.
class FileSources {
 public:
  // With `module` (which may be null) the memory of the rank's largest tensor is taken and touched here, once
  // for the whole run, so that nobody's clock sees it. `config` and `clock` outlive the sources.
  FileSources(const RunConfig& config, std::int64_t rank, const storage::libtorch::Module* module,
              const storage::Clock& clock);

  // One at a time where they are LibTorch's: they share the memory. With `sample`, which outlives the source,
  // what making its bytes takes is added there.
  [[nodiscard]] std::unique_ptr<FileSource> open(const storage::torch::FileSpec& file,
                                                 std::uint64_t content_pass, std::uint64_t checkpoint,
                                                 storage::torch::MakingSample* sample) const;

  // Whether making bytes takes steps of any length, a pass over a whole tensor.
  [[nodiscard]] bool long_steps() const { return module_ != nullptr; }

 private:
  const RunConfig& config_;
  const storage::libtorch::Module* module_;
  const storage::Clock& clock_;
  std::unique_ptr<storage::BufferPool> tensor_memory_;
};

}  // namespace ckptsim::simulator
