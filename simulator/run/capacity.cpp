#include "simulator/run/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "simulator/engine/failure.h"

namespace ckptsim::simulator {
namespace {

// File systems keep some of what they call available for themselves (metadata, rounding).
constexpr double kUsableShare = 0.98;

std::uint64_t usable(const TargetSpace& target) {
  return target.available_bytes + target.own.bytes;
}

// A checkpoint's folder and manifest on every target.
constexpr std::uint64_t kEntriesBesideFiles = 2;

// What the targets on one file system take of it together.
struct SharedSpace : TargetSpace {
  std::uint64_t targets = 1;  // each with a run's folder
};

// Of one checkpoint, all that it leaves.
std::uint64_t size_bytes(const TargetSpace& target) {
  return target.checkpoint_bytes + target.manifest_bytes;
}

std::string with_gb(double bytes) {
  return fmt::format("{:.0f} bytes ({:.2f} GB)", bytes, bytes / 1e9);
}

std::vector<SharedSpace> by_file_system(const std::vector<TargetSpace>& targets) {
  std::map<std::string, std::size_t> known;
  std::vector<SharedSpace> merged;
  for (const TargetSpace& target : targets) {
    const auto [found, is_new] = known.try_emplace(target.file_system, merged.size());
    if (is_new) {
      merged.push_back({target});
      continue;
    }
    SharedSpace& same = merged[found->second];
    ++same.targets;
    same.path += " and " + target.path;
    same.checkpoint_bytes += target.checkpoint_bytes;
    same.own.bytes += target.own.bytes;
    same.own.entries += target.own.entries;
    same.checkpoint_files += target.checkpoint_files;
    same.manifest_bytes += target.manifest_bytes;
    same.rewrite_bytes += target.rewrite_bytes;
  }
  return merged;
}

Capacity auto_capacity(const TargetSpace& target, double fill_fraction) {
  const auto size = static_cast<double>(target.checkpoint_bytes);
  const double of_capacity = std::floor(fill_fraction * static_cast<double>(target.capacity_bytes) / size);
  const std::uint64_t room = usable(target) - std::min(usable(target), target.rewrite_bytes);
  const std::uint64_t that_fit = room / size_bytes(target);
  const double of_available = std::min(std::floor(kUsableShare * static_cast<double>(usable(target)) / size),
                                       static_cast<double>(that_fit));
  if (of_capacity <= of_available) {
    return {static_cast<std::int64_t>(of_capacity),
            fmt::format("auto: {} of the size of {}", fill_fraction, target.path)};
  }
  return {static_cast<std::int64_t>(of_available),
          fmt::format("auto: limited by the space that is free on {}", target.path)};
}

void check_files(const SharedSpace& target, std::int64_t checkpoints) {
  const std::uint64_t each = target.checkpoint_files + kEntriesBesideFiles * target.targets;
  const std::uint64_t needed = target.targets + each * static_cast<std::uint64_t>(checkpoints);
  const bool unlimited = target.available_files > UINT64_MAX - target.own.entries;
  if (unlimited || needed <= target.available_files + target.own.entries) return;
  throw RunFailure(
      ExitCode::kUnsuitable,
      fmt::format(
          "{}: {} files and folders are needed for {} checkpoint{} a pass and the file system has room "
          "for {} (inodes); make it with more, or ask for fewer checkpoints",
          target.path, needed, checkpoints, checkpoints == 1 ? "" : "s",
          target.available_files + target.own.entries));
}

void check_fits(const TargetSpace& target, std::int64_t checkpoints) {
  const auto count = static_cast<std::uint64_t>(checkpoints);
  const double needed = static_cast<double>(size_bytes(target)) * static_cast<double>(count) +
                        static_cast<double>(target.rewrite_bytes);
  const auto free = static_cast<double>(usable(target));
  if (needed <= free) return;
  const std::string rewriting =
      target.rewrite_bytes == 0
          ? ""
          : fmt::format(", {} of them because this file system copies what is written over",
                        with_gb(static_cast<double>(target.rewrite_bytes)));
  throw RunFailure(
      ExitCode::kUnsuitable,
      fmt::format("{}: no space for {} checkpoint{} a pass: {} needed{}, {} free; ask for fewer checkpoints, "
                  "a smaller --scale or another target",
                  target.path, checkpoints, checkpoints == 1 ? "" : "s", with_gb(needed), rewriting,
                  with_gb(free)));
}

}  // namespace

bool copies_on_write(const std::string& file_system_type) {
  static const std::set<std::string> known = {"bcachefs", "btrfs", "nilfs2", "zfs"};
  return known.contains(file_system_type);
}

Capacity checkpoints_per_pass(const std::vector<TargetSpace>& targets, std::optional<std::int64_t> asked,
                              double fill_fraction) {
  Capacity least{asked.value_or(std::numeric_limits<std::int64_t>::max()), "as asked"};
  for (const SharedSpace& target : by_file_system(targets)) {
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
  for (const SharedSpace& target : by_file_system(targets))
    check_files(target, least.checkpoints);
  return least;
}

}  // namespace ckptsim::simulator
