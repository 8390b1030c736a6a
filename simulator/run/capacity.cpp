#include "simulator/run/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "simulator/engine/failure.h"

namespace ckptsim::simulator {
namespace {

// File systems keep some of what they call available for themselves (metadata, rounding).
constexpr double kUsableShare = 0.98;

std::uint64_t usable(const TargetSpace& target) {
  return target.available_bytes + target.own_bytes;
}

std::string with_gb(double bytes) {
  return fmt::format("{:.0f} bytes ({:.2f} GB)", bytes, bytes / 1e9);
}

std::vector<TargetSpace> by_file_system(const std::vector<TargetSpace>& targets) {
  std::map<std::string, std::size_t> known;
  std::vector<TargetSpace> merged;
  for (const TargetSpace& target : targets) {
    const auto [found, is_new] = known.try_emplace(target.file_system, merged.size());
    if (is_new) {
      merged.push_back(target);
      continue;
    }
    TargetSpace& same = merged[found->second];
    same.path += " and " + target.path;
    same.checkpoint_bytes += target.checkpoint_bytes;
    same.own_bytes += target.own_bytes;
    same.checkpoint_files += target.checkpoint_files;
  }
  return merged;
}

Capacity auto_capacity(const TargetSpace& target, double fill_fraction) {
  const auto size = static_cast<double>(target.checkpoint_bytes);
  const double of_capacity = std::floor(fill_fraction * static_cast<double>(target.capacity_bytes) / size);
  const double of_available = std::floor(kUsableShare * static_cast<double>(usable(target)) / size);
  if (of_capacity <= of_available) {
    return {static_cast<std::int64_t>(of_capacity),
            fmt::format("auto: {} of the size of {}", fill_fraction, target.path)};
  }
  return {static_cast<std::int64_t>(of_available),
          fmt::format("auto: limited by the space that is free on {}", target.path)};
}

// What an earlier run leaves would give its inodes back; how many is not known before it goes.
void check_files(const TargetSpace& target, std::int64_t checkpoints) {
  const std::uint64_t needed = target.checkpoint_files * static_cast<std::uint64_t>(checkpoints);
  if (target.own_bytes > 0 || needed <= target.available_files) return;
  throw RunFailure(
      ExitCode::kUnsuitable,
      fmt::format("{}: {} files are needed for {} checkpoint{} a pass and the file system has room for {} "
                  "more (inodes); make it with more, or ask for fewer checkpoints",
                  target.path, needed, checkpoints, checkpoints == 1 ? "" : "s", target.available_files));
}

void check_fits(const TargetSpace& target, std::int64_t checkpoints) {
  const double needed = static_cast<double>(target.checkpoint_bytes) * static_cast<double>(checkpoints);
  const auto free = static_cast<double>(usable(target));
  if (needed <= free) return;
  throw RunFailure(
      ExitCode::kUnsuitable,
      fmt::format("{}: no space for {} checkpoint{} a pass: {} needed, {} free; ask for fewer checkpoints, "
                  "a smaller --scale or another target",
                  target.path, checkpoints, checkpoints == 1 ? "" : "s", with_gb(needed), with_gb(free)));
}

}  // namespace

Capacity checkpoints_per_pass(const std::vector<TargetSpace>& targets, std::optional<std::int64_t> asked,
                              double fill_fraction) {
  Capacity least{asked.value_or(std::numeric_limits<std::int64_t>::max()), "as asked"};
  for (const TargetSpace& target : by_file_system(targets)) {
    if (target.checkpoint_bytes == 0) continue;
    check_fits(target, asked.value_or(1));
    if (asked.has_value()) continue;
    Capacity capacity = auto_capacity(target, fill_fraction);
    if (capacity.checkpoints < 1) {
      throw RunFailure(
          ExitCode::kUnsuitable,
          fmt::format("{}: one checkpoint of {} is more than checkpoint.fill_fraction {} of the drive's {} "
                      "or 0.98 of the {} free; choose a smaller --scale or a larger target",
                      target.path, with_gb(static_cast<double>(target.checkpoint_bytes)), fill_fraction,
                      with_gb(static_cast<double>(target.capacity_bytes)),
                      with_gb(static_cast<double>(usable(target)))));
    }
    if (capacity.checkpoints < least.checkpoints) least = std::move(capacity);
  }
  for (const TargetSpace& target : by_file_system(targets))
    check_files(target, least.checkpoints);
  return least;
}

}  // namespace ckptsim::simulator
