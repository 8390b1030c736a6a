#include "simulator/run/load_result.h"

#include <algorithm>
#include <utility>

#include "simulator/run/result.h"
#include "simulator/run/statistics.h"

namespace ckptsim::simulator {
namespace {

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

// Of counts that may not be known.
std::optional<std::uint64_t> sum(const std::optional<std::uint64_t>& left,
                                 const std::optional<std::uint64_t>& right) {
  if (!left || !right) return std::nullopt;
  return *left + *right;
}

}  // namespace

LoadResult summarise_load(std::vector<RankLoad> ranks, std::int64_t barrier_to_barrier_ns,
                          bool through_page_cache) {
  LoadResult load;
  load.barrier_to_barrier_ns = barrier_to_barrier_ns;
  std::vector<double> durations;
  double idle_ns = 0;
  double read_ns = 0;
  for (RankLoad& rank : ranks) {
    rank.cpu_wait_ns = std::min(rank.cpu_wait_ns, rank.duration_ns);  // as in summarise_save()
    load.payload_bytes += rank.payload_bytes;
    load.file_bytes += rank.file_bytes;
    load.cached_bytes_before = sum(load.cached_bytes_before, rank.cached_bytes_before);
    idle_ns += static_cast<double>(rank.idle_ns);
    read_ns += static_cast<double>(rank.phase_ns[static_cast<std::size_t>(LoadPhase::kRead)]);
    // Ranks that read nothing are no measure of a typical rank.
    if (rank.file_bytes > 0) durations.push_back(static_cast<double>(rank.duration_ns));
    if (rank.duration_ns > load.duration_ns) {
      load.duration_ns = rank.duration_ns;
      load.straggler_rank = rank.rank;
    }
  }
  const double median_ns = median(durations);
  if (median_ns > 0) load.skew = static_cast<double>(load.duration_ns) / median_ns;
  load.idle_share = ratio(idle_ns, read_ns);
  load.cached_share.reset();
  if (load.cached_bytes_before)
    load.cached_share =
        ratio(static_cast<double>(*load.cached_bytes_before), static_cast<double>(load.file_bytes));
  load.from_cache = through_page_cache && load.cached_bytes_before != std::uint64_t{0};
  load.ranks = std::move(ranks);
  return load;
}

std::optional<LoadAverages> average_loads(const std::vector<const LoadResult*>& loads) {
  if (loads.empty()) return std::nullopt;
  std::vector<double> durations;
  double bytes = 0;
  double total_ns = 0;
  durations.reserve(loads.size());
  for (const LoadResult* load : loads) {
    durations.push_back(seconds(load->duration_ns));
    bytes += static_cast<double>(load->file_bytes);
    total_ns += static_cast<double>(load->duration_ns);
  }
  return LoadAverages{.average_s = mean(durations),
                      .stdev_s = sample_stdev(durations),
                      .min_s = *std::min_element(durations.begin(), durations.end()),
                      .max_s = *std::max_element(durations.begin(), durations.end()),
                      .throughput_gb_per_s = gb_per_s(bytes, total_ns)};
}

}  // namespace ckptsim::simulator
