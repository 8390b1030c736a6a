#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ckptsim::simulator {

// What is left of an earlier run of the same name, which this run removes before its first checkpoint.
struct Leftovers {
  std::uint64_t bytes = 0;    // that its removal frees
  std::uint64_t entries = 0;  // files and folders
};

// One target's room and what a checkpoint takes of it.
//
// A pass's peak is its end, whatever checkpoint.between_passes says: `delete` frees all of the last pass
// before the next, `truncate` cuts a file before its like is written, and `overwrite` writes in place. Only
// where the file system copies on write does `overwrite` need more: a file's old blocks stay until the new
// ones are whole.
struct TargetSpace {
  std::string path;
  std::string file_system;  // targets with the same name here share their room
  std::uint64_t capacity_bytes = 0;
  std::uint64_t available_bytes = 0;  // to this user; what is reserved for root is not among them
  Leftovers own = {};
  std::uint64_t available_files =
      UINT64_MAX;  // inodes left; the most there is where the file system has no limit
  std::uint64_t checkpoint_files = 0;
  std::uint64_t checkpoint_bytes = 0;  // of this target's ranks, rounded up to blocks
  std::uint64_t manifest_bytes = 0;    // of a checkpoint's manifest, at most
  std::uint64_t rewrite_bytes = 0;     // once, beside the checkpoints: what copying on write needs
};

// Whether writing over a file takes new blocks before the old ones are free.
[[nodiscard]] bool copies_on_write(const std::string& file_system_type);

// The number asked for, if that many fit, or without one (`auto`) the least over all file systems of
// min(fill_fraction x capacity / size, 0.98 x (available + own) / size), rounded down, and no more than fit
// with their manifests. Throws RunFailure 3 naming the target with needed and free bytes (or files) where
// they do not fit or where not even one does.
struct Capacity {
  std::int64_t checkpoints = 0;
  std::string reason;  // in words: asked for, or what the number follows from
};
[[nodiscard]] Capacity checkpoints_per_pass(const std::vector<TargetSpace>& targets,
                                            std::optional<std::int64_t> asked, double fill_fraction);

}  // namespace ckptsim::simulator
