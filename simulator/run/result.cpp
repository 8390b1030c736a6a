#include "simulator/run/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "models/invariant.h"
#include "simulator/run/statistics.h"

namespace ckptsim::simulator {
namespace {

constexpr double kGeneratorBoundShare = 0.05;  // of write, summed over all ranks
constexpr double kCpuWaitShare = 0.2;          // of all ranks' time
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
    busy.reserve(members.size());
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
    targets.push_back(target);
  }
  return targets;
}

struct Verdict {
  Bound bound = Bound::kDrive;
  std::string words;
};

// The first that holds: docs/what-is-timed.md, "Bound by".
Verdict what_bounded(const SaveResult& save, double sync_share, Sink sink) {
  if (sink == Sink::kNowhere) {
    return {Bound::kHost, "the host: nothing is written, so this is the software's own ceiling"};
  }
  if (save.generator_bound) {
    return {Bound::kHost, fmt::format("the host: {:.1f} % of the time in write had no I/O in flight",
                                      100 * save.idle_share)};
  }
  if (save.cpu_wait_share.value_or(0) > kCpuWaitShare) {
    return {Bound::kHost, fmt::format("the host: ranks waited for a processor {:.0f} % of their time",
                                      100 * *save.cpu_wait_share)};
  }
  if (sink == Sink::kPageCache) {
    return {Bound::kMemory, "memory: nothing was synced, the page cache took what it could"};
  }
  if (save.skew > kOneRankSkew) {
    return {Bound::kOneRank, fmt::format("one rank: rank {} took {:.2f} times as long as the median rank",
                                         save.straggler_rank, save.skew)};
  }
  if (sync_share > kSyncShare) {
    return {Bound::kSync,
            fmt::format("syncing: fsync and close took {:.0f} % of the ranks' time", 100 * sync_share)};
  }
  return {
      Bound::kDrive,
      fmt::format(
          "the drive: I/O was in flight for {:.1f} % of the time in write, and fsync and close took {:.0f} %",
          100 * (1 - save.idle_share), 100 * sync_share)};
}

// Sums over all ranks.
struct RankTotals {
  std::int64_t duration_ns = 0;
  std::int64_t write_ns = 0;
  std::int64_t sync_ns = 0;
  std::int64_t idle_ns = 0;
  std::int64_t cpu_wait_ns = 0;
  bool cpu_wait_known = true;
};

RankTotals add_up(const std::vector<RankSave>& ranks) {
  RankTotals totals;
  for (const RankSave& rank : ranks) {
    totals.duration_ns += rank.duration_ns;
    totals.write_ns += phase(rank, Phase::kWrite);
    totals.sync_ns +=
        phase(rank, Phase::kSync) + phase(rank, Phase::kClose) + phase(rank, Phase::kDirectorySync);
    totals.idle_ns += rank.idle_ns;
    totals.cpu_wait_ns += rank.cpu_wait_ns;
    totals.cpu_wait_known = totals.cpu_wait_known && rank.cpu_wait_ns >= 0;
  }
  return totals;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

std::string_view bound_name(Bound bound) {
  switch (bound) {
    case Bound::kDrive:
      return "drive";
    case Bound::kHost:
      return "host";
    case Bound::kMemory:
      return "memory";
    case Bound::kSync:
      return "sync";
    case Bound::kOneRank:
      return "one_rank";
  }
  return "drive";
}

double gb_per_s(std::uint64_t bytes, std::int64_t ns) {
  return gb_per_s(static_cast<double>(bytes), static_cast<double>(ns));
}

double gb_per_s(double bytes, double ns) {
  return ns > 0 ? bytes / ns : 0;
}

SaveResult summarise_save(std::vector<RankSave> ranks, std::int64_t barrier_to_barrier_ns, Sink sink) {
  SaveResult save;
  save.barrier_to_barrier_ns = barrier_to_barrier_ns;
  std::vector<double> durations;
  durations.reserve(ranks.size());
  for (RankSave& rank : ranks) {
    // The scheduler's count is read a little before the clock starts and a little after it stops, and on a
    // crowded host a thread waits there as well: no rank waited longer than its checkpoint took.
    rank.cpu_wait_ns = std::min(rank.cpu_wait_ns, rank.duration_ns);
    save.payload_bytes += rank.payload_bytes;
    save.file_bytes += rank.file_bytes;
    // Ranks that hold nothing (ZeRO 0, data-parallel copies) are no measure of a typical rank.
    if (rank.file_bytes > 0) durations.push_back(static_cast<double>(rank.duration_ns));
    if (rank.duration_ns > save.duration_ns) {
      save.duration_ns = rank.duration_ns;
      save.straggler_rank = rank.rank;
    }
  }
  const double median_ns = median(durations);
  if (median_ns > 0) save.skew = static_cast<double>(save.duration_ns) / median_ns;
  const RankTotals totals = add_up(ranks);
  save.idle_share = share(totals.idle_ns, totals.write_ns);
  save.generator_bound = save.idle_share > kGeneratorBoundShare;
  if (totals.cpu_wait_known) save.cpu_wait_share = share(totals.cpu_wait_ns, totals.duration_ns);
  save.targets = summarise_targets(ranks, save.duration_ns);
  save.ranks = std::move(ranks);
  for (RankSave& rank : save.ranks)
    rank.busy.clear();
  const Verdict verdict = what_bounded(save, share(totals.sync_ns, totals.duration_ns), sink);
  save.bound = verdict.bound;
  save.bound_words = verdict.words;
  return save;
}

EngineCost cost_of_barriers(const std::vector<RankSave>& ranks, const std::string& host,
                            std::int64_t called_ns) {
  require(!ranks.empty(), "a checkpoint has ranks");
  EngineCost cost{.start_ns = INT64_MAX, .finish_ns = INT64_MAX};
  for (const RankSave& rank : ranks) {
    // The clocks of other hosts say nothing here; some rank is always on the host of process 0.
    if (rank.host == host) cost.start_ns = std::min(cost.start_ns, rank.started_ns - called_ns);
    cost.finish_ns = std::min(cost.finish_ns, rank.exit_ns);
  }
  return cost;
}

std::size_t counted(const PassResult& pass) {
  return static_cast<std::size_t>(
      std::count_if(pass.checkpoints.begin(), pass.checkpoints.end(),
                    [](const CheckpointResult& checkpoint) { return !checkpoint.redone; }));
}

void summarise_pass(PassResult& pass) {
  std::vector<double> durations;
  double bytes = 0;
  double total_ns = 0;
  durations.reserve(pass.checkpoints.size());
  std::vector<const LoadResult*> loads;
  for (const CheckpointResult& checkpoint : pass.checkpoints) {
    if (checkpoint.load.has_value()) loads.push_back(&*checkpoint.load);
    if (checkpoint.redone) continue;
    durations.push_back(seconds(checkpoint.save.duration_ns));
    bytes += static_cast<double>(checkpoint.save.file_bytes);
    total_ns += static_cast<double>(checkpoint.save.duration_ns);
  }
  pass.load = average_loads(loads);
  if (durations.empty()) return;
  pass.average_s = mean(durations);
  pass.stdev_s = sample_stdev(durations);
  pass.min_s = *std::min_element(durations.begin(), durations.end());
  pass.max_s = *std::max_element(durations.begin(), durations.end());
  pass.throughput_gb_per_s = gb_per_s(bytes, total_ns);
}

}  // namespace ckptsim::simulator
