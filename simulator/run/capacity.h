#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ckptsim::simulator {

// One target's room and what a checkpoint takes of it.
struct TargetSpace {
  std::string path;
  std::string file_system;  // targets with the same name here share their room
  std::uint64_t capacity_bytes = 0;
  std::uint64_t available_bytes = 0;  // to this user
  std::uint64_t own_bytes = 0;        // what an earlier run of the same name left, and this one removes
  std::uint64_t available_files =
      UINT64_MAX;  // inodes left; the most there is where the file system has no limit
  std::uint64_t checkpoint_files = 0;
  std::uint64_t checkpoint_bytes = 0;  // of this target's ranks, rounded up to blocks
};

// The number asked for, if that many fit, or without one (`auto`) the least over all file systems of
// min(fill_fraction x capacity / size, 0.98 x (available + own) / size), rounded down. Throws RunFailure 3
// naming the target with needed and free bytes (or files) where they do not fit or where not even one does.
struct Capacity {
  std::int64_t checkpoints = 0;
  std::string reason;  // in words: asked for, or what the number follows from
};
[[nodiscard]] Capacity checkpoints_per_pass(const std::vector<TargetSpace>& targets,
                                            std::optional<std::int64_t> asked, double fill_fraction);

}  // namespace ckptsim::simulator
