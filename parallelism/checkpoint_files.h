#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/dtype.h"
#include "models/training_state.h"
#include "models/transformer.h"
#include "parallelism/topology.h"

namespace ckptsim::parallelism {

struct FileTensor {
  std::string name;
  models::Dtype dtype = models::Dtype::kFloat32;
  std::vector<std::int64_t> shape;
};

// One file of a rank. run_state: the file also carries the iteration and the RNG state (integers and
// strings).
struct CheckpointFile {
  std::string name;
  std::vector<FileTensor> tensors;
  bool run_state = false;
};

// The files of one rank in the order in which it writes them; empty for a rank that writes nothing (ZeRO 0,
// dp > 0). `layout` is "deepspeed"; another is a ConfigError (pointer "/checkpoint/layout").
[[nodiscard]] std::vector<CheckpointFile> files_of_rank(const models::Transformer& model,
                                                        const models::TrainingState& state,
                                                        const Topology& topology, std::string_view layout,
                                                        double scale, std::int64_t rank);

// Tensor bytes of a file. Throws ConfigError past 2^63 - 1.
[[nodiscard]] std::int64_t payload_bytes(const CheckpointFile& file);

}  // namespace ckptsim::parallelism
