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

// One file of a rank. run_state: it also carries the iteration and the RNG state (integers and strings).
struct CheckpointFile {
  std::string name;
  std::vector<FileTensor> tensors;
  bool run_state = false;
};

// All layouts there are. Every file name that one of them gives has to be one that storage recognises
// (storage/target/data_file_name.h), or no run could write over or remove its files.
[[nodiscard]] std::vector<std::string_view> layout_names();

// The files of one rank in the order in which it writes them; empty for a rank that writes nothing (dp > 0
// where neither weights nor optimizer state are sliced). Throws ConfigError for a layout other than
// "deepspeed" (pointer "/checkpoint/layout"), for a scale that is not a number above 0 ("/scale"), and like
// check(). Reentrant: any thread, any rank.
[[nodiscard]] std::vector<CheckpointFile> files_of_rank(const models::Transformer& model,
                                                        const models::TrainingState& state,
                                                        const Topology& topology, std::string_view layout,
                                                        double scale, std::int64_t rank);

// Tensor bytes of a file. Throws ConfigError past 2^63 - 1.
[[nodiscard]] std::int64_t payload_bytes(const CheckpointFile& file);

}  // namespace ckptsim::parallelism
