#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/engine/phases.h"

namespace ckptsim::simulator {

// One rank's part of a load, as it travels to process 0 and into result.json.
struct RankLoad {
  std::int64_t rank = 0;
  std::int64_t read_rank = 0;  // whose files it read
  std::string host;
  std::uint64_t payload_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t read_bytes = 0;  // that came from the target: the tail of a file can come twice
  std::uint64_t blocks = 0;
  // Of its files, in its host's page cache as the clock started; empty where the kernel did not tell.
  std::optional<std::uint64_t> cached_bytes_before = 0;
  std::int64_t duration_ns = 0;
  std::array<std::int64_t, kLoadPhases> phase_ns{};
  std::int64_t idle_ns = 0;  // inside read
  std::int64_t cpu_ns = 0;
  std::int64_t cpu_wait_ns = 0;  // -1 where the kernel does not say
  std::int64_t latency_p50_ns = 0;
  std::int64_t latency_p99_ns = 0;
  std::int64_t latency_p999_ns = 0;
  std::int64_t latency_max_ns = 0;
};

// The reading back of one checkpoint.
struct LoadResult {
  std::int64_t duration_ns = 0;            // the longest rank's
  std::int64_t barrier_to_barrier_ns = 0;  // on process 0
  std::int64_t prepare_ns = 0;             // dropping and counting cached pages: outside the duration
  std::uint64_t payload_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::int64_t straggler_rank = 0;
  double skew = 1;        // longest over median rank
  double idle_share = 0;  // idle_ns over read time, summed over all ranks
  std::optional<std::uint64_t> cached_bytes_before = 0;  // of all ranks; empty where that of one is
  std::optional<double> cached_share = 0;                // of the file bytes
  bool from_cache = false;  // read through the page cache, which held some of the bytes, or may have
  std::vector<RankLoad> ranks;
};

// Of a pass's loads, as summarise_pass() has it of its saves.
struct LoadAverages {
  double average_s = 0;
  std::optional<double> stdev_s;
  double min_s = 0;
  double max_s = 0;
  double throughput_gb_per_s = 0;
};

// Puts the ranks of a load together. `through_page_cache`: reads ask the page cache first.
[[nodiscard]] LoadResult summarise_load(std::vector<RankLoad> ranks, std::int64_t barrier_to_barrier_ns,
                                        bool through_page_cache);

// None where nothing was loaded.
[[nodiscard]] std::optional<LoadAverages> average_loads(const std::vector<const LoadResult*>& loads);

}  // namespace ckptsim::simulator
