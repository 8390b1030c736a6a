#include "simulator/run/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "simulator/run/statistics.h"

namespace ckptsim::simulator {
namespace {

constexpr double kGeneratorBoundShare = 0.05;  // of write, summed over all ranks
constexpr double kOneRankSkew = 1.25;          // longest over median rank
constexpr double kSyncShare = 0.5;             // of all ranks' time

std::int64_t phase(const RankSave& rank, Phase which) {
  return rank.phase_ns[static_cast<std::size_t>(which)];
}

std::vector<TargetSave> summarise_targets(const std::vector<RankSave>& ranks, std::int64_t duration_ns) {
  std::map<std::size_t, std::vector<const RankSave*>> by_target;
  for (const RankSave& rank : ranks)
    by_target[rank.target].push_back(&rank);
  std::vector<TargetSave> targets;
  for (const auto& [index, members] : by_target) {
    std::vector<std::vector<Interval>> busy;
    std::int64_t depth_integral = 0;
    std::int64_t resolution_ns = 0;
    for (const RankSave* rank : members) {
      busy.push_back(rank->busy);
      depth_integral += rank->depth_integral_ns;
      resolution_ns = std::max(resolution_ns, rank->busy_resolution_ns);
    }
    TargetSave target{
        .target = index, .idle_ns = uncovered_ns(busy, duration_ns), .resolution_ns = resolution_ns};
    if (duration_ns > 0) {
      target.idle_share = static_cast<double>(target.idle_ns) / static_cast<double>(duration_ns);
      target.mean_depth = static_cast<double>(depth_integral) / static_cast<double>(duration_ns);
    }
    targets.push_back(std::move(target));
  }
  return targets;
}

void say_what_bounded(SaveResult& save, bool writes_nothing) {
  std::int64_t all_ns = 0;
  std::int64_t sync_ns = 0;
  for (const RankSave& rank : save.ranks) {
    all_ns += rank.duration_ns;
    sync_ns += phase(rank, Phase::kSync) + phase(rank, Phase::kClose) + phase(rank, Phase::kDirectorySync);
  }
  const double sync_share = all_ns > 0 ? static_cast<double>(sync_ns) / static_cast<double>(all_ns) : 0;
  if (writes_nothing) {
    save.bound = Bound::kHost;
    save.bound_words = "the host: nothing is written, so this is the software's own ceiling";
  } else if (save.skew > kOneRankSkew) {
    save.bound = Bound::kOneRank;
    save.bound_words = fmt::format("one rank: rank {} took {:.2f} times as long as the median rank",
                                   save.straggler_rank, save.skew);
  } else if (save.generator_bound) {
    save.bound = Bound::kHost;
    save.bound_words =
        fmt::format("the host: {:.1f} % of the time in write had no I/O in flight", 100 * save.idle_share);
  } else if (sync_share > kSyncShare) {
    save.bound = Bound::kSync;
    save.bound_words =
        fmt::format("syncing: fsync and close took {:.0f} % of the ranks' time", 100 * sync_share);
  } else {
    save.bound = Bound::kDrive;
    save.bound_words = fmt::format(
        "the drive: I/O was in flight for {:.1f} % of the time in write, and fsync and close took {:.0f} %",
        100 * (1 - save.idle_share), 100 * sync_share);
  }
}

}  // namespace

double gb_per_s(std::uint64_t bytes, std::int64_t ns) {
  return ns > 0 ? static_cast<double>(bytes) / static_cast<double>(ns) : 0;
}

SaveResult summarise_save(std::vector<RankSave> ranks, std::int64_t barrier_to_barrier_ns,
                          bool writes_nothing) {
  SaveResult save;
  save.barrier_to_barrier_ns = barrier_to_barrier_ns;
  std::vector<double> durations;
  std::int64_t idle_ns = 0;
  std::int64_t write_ns = 0;
  for (const RankSave& rank : ranks) {
    save.payload_bytes += rank.payload_bytes;
    save.file_bytes += rank.file_bytes;
    idle_ns += rank.idle_ns;
    write_ns += phase(rank, Phase::kWrite);
    // Ranks that hold nothing (ZeRO 0, data-parallel copies) are no measure of a typical rank.
    if (rank.file_bytes > 0) durations.push_back(static_cast<double>(rank.duration_ns));
    if (rank.duration_ns > save.duration_ns) {
      save.duration_ns = rank.duration_ns;
      save.straggler_rank = rank.rank;
    }
  }
  const double median_ns = median(durations);
  if (median_ns > 0) save.skew = static_cast<double>(save.duration_ns) / median_ns;
  if (write_ns > 0) save.idle_share = static_cast<double>(idle_ns) / static_cast<double>(write_ns);
  save.generator_bound = save.idle_share > kGeneratorBoundShare;
  save.targets = summarise_targets(ranks, save.duration_ns);
  save.ranks = std::move(ranks);
  for (RankSave& rank : save.ranks)
    rank.busy.clear();
  say_what_bounded(save, writes_nothing);
  return save;
}

void summarise_pass(PassResult& pass) {
  std::vector<double> durations;
  std::uint64_t bytes = 0;
  std::int64_t total_ns = 0;
  for (const CheckpointResult& checkpoint : pass.checkpoints) {
    durations.push_back(seconds(checkpoint.save.duration_ns));
    bytes += checkpoint.save.file_bytes;
    total_ns += checkpoint.save.duration_ns;
  }
  if (durations.empty()) return;
  pass.average_s = mean(durations);
  pass.stdev_s = sample_stdev(durations);
  pass.min_s = *std::min_element(durations.begin(), durations.end());
  pass.max_s = *std::max_element(durations.begin(), durations.end());
  pass.throughput_gb_per_s = gb_per_s(bytes, total_ns);
}

}  // namespace ckptsim::simulator
