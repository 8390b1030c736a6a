#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/errors.h"
#include "models/transformer.h"

namespace ckptsim::simulator {

// A run's configuration with every default filled in (configs/schema/run.schema.json documents each key).
// Plain values: what is valid only together (tensor parallelism against the model's dimensions, block size
// against the drive's alignment) is checked where both are known.
struct ParallelismConfig {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t zero_stage = 0;  // 0, 1 or 3
};

struct CheckpointConfig {
  std::string layout = "deepspeed";
  std::int64_t passes = 3;
  std::optional<std::int64_t> checkpoints_per_pass;  // empty: auto
  double fill_fraction = 0.87;
  std::string between_passes = "truncate";  // truncate, delete, overwrite
  bool trim = false;
  std::int64_t warmup_passes = 0;
  std::string fsync = "file";  // file, end, off
  std::string load = "none";   // none, each, end
  bool load_rank_shift = false;
  double pause_seconds = 0;
};

// The one dialect and alignment of LibTorch's writer: those of the only release whose module is loaded
// (storage/libtorch/load_module.h), so that a plan needs no module.
inline constexpr const char* kLibtorchDialect = "1.13";
inline constexpr std::uint64_t kLibtorchAlignmentBytes = 64;

struct StorageConfig {
  std::vector<std::string> targets;
  std::string backend = "auto";        // auto, io_uring, direct, buffered, null
  std::string serializer = "stream";   // stream, libtorch
  std::string torch_dialect = "auto";  // auto, 1.13, current
  std::uint64_t alignment_bytes = 64;
  std::uint64_t block_bytes = 4194304;
  std::uint64_t queue_depth = 4;
  std::string registered_buffers = "auto";  // auto, on, off
  bool registered_files = false;
  bool sqpoll = false;
  bool iopoll = false;
  std::string huge_pages = "auto";  // auto, on, off
  bool preallocate = false;
  double stall_seconds = 300;           // 0: never
  std::string drive_state = "unknown";  // new, trimmed, preconditioned, unknown
};

struct RunConfig {
  std::string name;
  models::Transformer model;
  std::string training_state = "adam8bit";
  ParallelismConfig parallelism;
  CheckpointConfig checkpoint;
  StorageConfig storage;
  std::uint64_t content_seed = 1;
  std::string content_kind = "random";  // random, weights
  double content_compressible_fraction = 0;
  double content_duplicate_fraction = 0;
  double scale = 1.0;
};

// Reads CONFIG (a path, or the name of a shipped run), applies `overrides` ("storage.queue_depth=8", in
// order), validates against the schema. Throws ConfigError: what() is one sentence with the file or key and
// what to do; a JSON syntax error gives line and column; an unknown key, the nearest known one.
[[nodiscard]] RunConfig load_run_config(const std::string& config, const std::vector<std::string>& overrides);

// The same from text that load_run_config() already made effective (another process's). `origin` is named in
// errors.
[[nodiscard]] RunConfig parse_run_config(const std::string& text, const std::string& origin,
                                         const std::vector<std::string>& overrides);

// Every key with its value, as JSON text that parse_run_config() reads back to the same.
[[nodiscard]] std::string effective_config(const RunConfig& config);

}  // namespace ckptsim::simulator
