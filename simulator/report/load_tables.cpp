#include "simulator/report/load_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/report/run_words.h"

namespace ckptsim::simulator {
namespace {

std::string share_text(const LoadResult& load, LoadPhase which) {
  double all = 0;
  double part = 0;
  for (const RankLoad& rank : load.ranks) {
    all += static_cast<double>(rank.duration_ns);
    part += static_cast<double>(rank.phase_ns[static_cast<std::size_t>(which)]);
  }
  const double share = all > 0 ? part / all : 0;
  return fmt::format("{:.1f}", 100 * share);
}

std::vector<std::string> row_of(const CheckpointResult& checkpoint) {
  const LoadResult& load = *checkpoint.load;
  return {pass_name(checkpoint.pass, checkpoint.warmup),
          fmt::format("{}", checkpoint.checkpoint),
          seconds_text(seconds(load.duration_ns)),
          fmt::format("{:.3f}", gb_per_s(load.file_bytes, load.duration_ns)),
          fmt::format("rank {}", load.straggler_rank),
          fmt::format("{:.2f}", load.skew),
          share_text(load, LoadPhase::kOpen),
          share_text(load, LoadPhase::kMetadata),
          share_text(load, LoadPhase::kRead),
          share_text(load, LoadPhase::kClose),
          fmt::format("{:.1f}", 100 * load.idle_share),
          load.cached_share ? fmt::format("{:.1f}", 100 * *load.cached_share) : std::string("unknown")};
}

}  // namespace

Table load_table(const RunResult& run) {
  Table table;
  table.columns = {{"pass"},   {"checkpoint"}, {"load s"}, {"GB/s"},    {"straggler"}, {"skew"},
                   {"open %"}, {"metadata %"}, {"read %"}, {"close %"}, {"idle %"},    {"cached %"}};
  for (const PassResult& pass : run.passes) {
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      if (checkpoint.load.has_value()) table.rows.push_back(row_of(checkpoint));
    }
  }
  return table;
}

std::string load_conditions(const RunResult& run) {
  std::int64_t loads = 0;
  double cached_share = 0;
  bool from_cache = false;
  bool unknown = false;
  for (const PassResult& pass : run.passes) {
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      if (!checkpoint.load.has_value()) continue;
      ++loads;
      cached_share = std::max(cached_share, checkpoint.load->cached_share.value_or(0));
      unknown = unknown || !checkpoint.load->cached_share;
      from_cache = from_cache || checkpoint.load->from_cache;
    }
  }
  if (loads == 0) return {};
  std::string text = fmt::format(
      "Loads: each rank read back the files {}, and every record the CRC-32 that its file states.\n",
      run.config.checkpoint.load_rank_shift ? "of another rank (checkpoint.load_rank_shift)"
                                            : "that it wrote");
  if (unknown) {
    text +=
        "How much of the files was in the page cache is not known: the kernel tells that only to the owner of a "
        "file and to who may write it.\n";
  }
  if (from_cache && cached_share == 0) {
    text +=
        "PERHAPS LOADED FROM CACHE: the files were read through the page cache, which may have held some of "
        "their bytes.\n";
  } else if (from_cache) {
    text += fmt::format(
        "LOADED FROM CACHE: the page cache could not be emptied of the files and held up to {:.1f} % of "
        "their "
        "bytes, so that the figures of loads are memory's.\n",
        100 * cached_share);
  }
  return text;
}

std::vector<std::string> load_columns() {
  std::vector<std::string> columns = {"load_duration_s", "load_throughput_gb_per_s", "load_straggler_rank",
                                      "load_skew",       "load_idle_share",          "load_cached_share"};
  for (const std::string_view phase : kLoadPhaseNames)
    columns.push_back(fmt::format("load_{}_s", phase));
  return columns;
}

std::vector<std::string> load_cells(const std::optional<LoadResult>& load) {
  if (!load.has_value()) return std::vector<std::string>(load_columns().size());
  std::vector<std::string> cells = {fmt::format("{:.9f}", seconds(load->duration_ns)),
                                    fmt::format("{:.6f}", gb_per_s(load->file_bytes, load->duration_ns)),
                                    fmt::format("{}", load->straggler_rank),
                                    fmt::format("{:.6f}", load->skew),
                                    fmt::format("{:.6f}", load->idle_share),
                                    load->cached_share ? fmt::format("{:.6f}", *load->cached_share) : ""};
  const auto straggler = std::find_if(load->ranks.begin(), load->ranks.end(), [&](const RankLoad& rank) {
    return rank.rank == load->straggler_rank;
  });
  for (std::size_t i = 0; i < kLoadPhases; ++i) {
    const std::int64_t phase_ns = straggler == load->ranks.end() ? 0 : straggler->phase_ns[i];
    cells.push_back(fmt::format("{:.9f}", seconds(phase_ns)));
  }
  return cells;
}

}  // namespace ckptsim::simulator
