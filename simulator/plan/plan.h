#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/config/run_config.h"
#include "storage/torch/file_spec.h"

namespace ckptsim::simulator {

// A file's sizes: payload is tensor bytes, file_bytes what the file system will say.
struct FilePlan {
  std::string name;
  std::uint64_t payload_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t manifest_bytes = 0;  // of its entry in the manifest, at most
};

// What one model rank writes in every checkpoint.
struct RankPlan {
  std::int64_t rank = 0;
  std::int64_t tensor = 0;
  std::int64_t pipeline = 0;
  std::int64_t data = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t disk_bytes = 0;  // file bytes, each file rounded up to kDiskBlockBytes
  std::uint64_t files = 0;
  std::uint64_t largest_file_bytes = 0;
  std::uint64_t manifest_bytes = 0;  // of its part of the manifest, at most
};

// What a run writes, known before a byte of it is made.
struct RunPlan {
  std::int64_t parameters = 0;  // of the whole model, whatever the scale
  std::uint64_t payload_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t files = 0;
  std::vector<RankPlan> ranks;
};

// The largest block size of the file systems that checkpoints are written to.
inline constexpr std::uint64_t kDiskBlockBytes = 4096;

// Checks everything that can be checked without a target. Throws ConfigError.
[[nodiscard]] RunPlan make_plan(const RunConfig& config);

// The files of one rank in writing order.
[[nodiscard]] std::vector<FilePlan> file_plans(const RunConfig& config, std::int64_t rank);

// The same files as the torch writer needs them. `iteration` stands in the files that carry the run's state;
// sizes do not depend on it.
[[nodiscard]] std::vector<storage::torch::FileSpec> file_specs(const RunConfig& config, std::int64_t rank,
                                                               std::int64_t iteration);

// Gives the files of `file_specs` another iteration: nothing else in them changes from checkpoint to
// checkpoint.
void set_iteration(std::vector<storage::torch::FileSpec>& specs, std::int64_t rank, std::int64_t iteration);

// The training iteration that checkpoint number `ordinal` (from 0, over the whole run) claims to have been
// saved at.
[[nodiscard]] std::int64_t iteration_of(std::uint64_t ordinal);

// The pass in the content's address. A warm-up pass has bytes of its own: none of them come again in a
// measured pass.
[[nodiscard]] std::uint64_t content_pass(std::int64_t pass, bool warmup);

[[nodiscard]] storage::torch::ArchiveOptions archive_options(const RunConfig& config);

// "1.13" or "current": what torch_dialect `auto` comes to.
[[nodiscard]] std::string effective_dialect(const RunConfig& config);

}  // namespace ckptsim::simulator
