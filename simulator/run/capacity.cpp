#include "simulator/run/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

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
  }
  return merged;
}

std::int64_t auto_count(const TargetSpace& target, double fill_fraction) {
  const auto size = static_cast<double>(target.checkpoint_bytes);
  const double of_capacity = std::floor(fill_fraction * static_cast<double>(target.capacity_bytes) / size);
  const double of_available = std::floor(kUsableShare * static_cast<double>(usable(target)) / size);
  return static_cast<std::int64_t>(std::min(of_capacity, of_available));
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

std::int64_t checkpoints_per_pass(const std::vector<TargetSpace>& targets, std::optional<std::int64_t> asked,
                                  double fill_fraction) {
  std::int64_t least = asked.value_or(std::numeric_limits<std::int64_t>::max());
  for (const TargetSpace& target : by_file_system(targets)) {
    if (target.checkpoint_bytes == 0) continue;
    check_fits(target, asked.value_or(1));
    if (asked.has_value()) continue;
    const std::int64_t count = auto_count(target, fill_fraction);
    if (count < 1) {
      throw RunFailure(
          ExitCode::kUnsuitable,
          fmt::format("{}: one checkpoint of {} is more than checkpoint.fill_fraction {} of the drive's {} "
                      "or 0.98 of the {} free; choose a smaller --scale or a larger target",
                      target.path, with_gb(static_cast<double>(target.checkpoint_bytes)), fill_fraction,
                      with_gb(static_cast<double>(target.capacity_bytes)),
                      with_gb(static_cast<double>(usable(target)))));
    }
    least = std::min(least, count);
  }
  return least;
}

}  // namespace ckptsim::simulator
