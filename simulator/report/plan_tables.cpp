#include "simulator/report/plan_tables.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "simulator/report/content_words.h"
#include "simulator/report/run_tables.h"

namespace ckptsim::simulator {
namespace {

constexpr std::array<double, 10> kCapacitiesTb = {1.92,  3.84, 6.4,   7.68,  12.8,
                                                  15.36, 25.6, 30.72, 61.44, 122.88};

std::string gb(std::uint64_t bytes) {
  return fmt::format("{:.3f}", static_cast<double>(bytes) / 1e9);
}

bool same_share(const RankPlan& a, const RankPlan& b) {
  return a.payload_bytes == b.payload_bytes && a.file_bytes == b.file_bytes && a.files == b.files;
}

// "0", "0-3": runs of ranks that write the same.
std::vector<std::pair<std::size_t, std::size_t>> runs_of_equal_ranks(const RunPlan& plan) {
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    if (!runs.empty() && same_share(plan.ranks[runs.back().first], plan.ranks[rank])) {
      runs.back().second = rank;
    } else {
      runs.emplace_back(rank, rank);
    }
  }
  return runs;
}

}  // namespace

Table rank_table(const RunPlan& plan) {
  Table table;
  table.columns = {{"ranks"},           {"pp"},     {"dp"}, {"files each"}, {"payload bytes each"},
                   {"file bytes each"}, {"GB each"}};
  for (const auto& [first, last] : runs_of_equal_ranks(plan)) {
    const RankPlan& rank = plan.ranks[first];
    const RankPlan& end = plan.ranks[last];
    const auto range = [](std::int64_t a, std::int64_t b) {
      return a == b ? fmt::format("{}", a) : fmt::format("{}-{}", a, b);
    };
    table.rows.push_back({range(rank.rank, end.rank), range(rank.pipeline, end.pipeline),
                          range(rank.data, end.data), fmt::format("{}", rank.files),
                          fmt::format("{}", rank.payload_bytes), fmt::format("{}", rank.file_bytes),
                          gb(rank.file_bytes)});
  }
  return table;
}

Table capacity_table(const RunConfig& config, const RunPlan& plan) {
  Table table;
  table.columns = {{"drive TB"}, {"checkpoints a pass"}, {"GB a pass"}};
  for (const double capacity_tb : kCapacitiesTb) {
    const double bytes = config.checkpoint.fill_fraction * capacity_tb * 1e12;
    const double count = std::floor(bytes / static_cast<double>(plan.disk_bytes));
    table.rows.push_back({fmt::format("{:.2f}", capacity_tb), fmt::format("{:.0f}", count),
                          fmt::format("{:.1f}", count * static_cast<double>(plan.file_bytes) / 1e9)});
  }
  return table;
}

std::string plan_report(const RunConfig& config, const RunPlan& plan, TableFormat format) {
  return headline(config, plan) + "\n" + content_words(config) +
         fmt::format("{} parameters; {} payload bytes (tensors alone), {} file bytes\n\n", plan.parameters,
                     plan.payload_bytes, plan.file_bytes) +
         render(rank_table(plan), format) + "\n" +
         fmt::format("Checkpoints that a pass holds (fill_fraction {}):\n", config.checkpoint.fill_fraction) +
         render(capacity_table(config, plan), format);
}

std::string dry_run_report(const RunResult& run, TableFormat format) {
  if (format == TableFormat::kCsv) return render(rank_table(run.plan), format);
  std::string text = headline(run.config, run.plan) + "\n" + content_words(run.config) + "\n" +
                     render(rank_table(run.plan), format) + "\n";
  const std::int64_t passes = run.config.checkpoint.passes + run.config.checkpoint.warmup_passes;
  const std::int64_t checkpoints = passes * run.effective.checkpoints_per_pass;
  const std::int64_t warm_ups = run.config.checkpoint.warmup_passes;
  text +=
      fmt::format("{} pass{}{} of {} checkpoint{}: {:.1f} GB would be written in all.\n", passes,
                  passes == 1 ? "" : "es", warm_ups > 0 ? fmt::format(" ({} of them warm-up)", warm_ups) : "",
                  run.effective.checkpoints_per_pass, run.effective.checkpoints_per_pass == 1 ? "" : "s",
                  static_cast<double>(run.plan.file_bytes) * static_cast<double>(checkpoints) / 1e9);
  for (const TargetEnvironment& target : run.environment.targets) {
    text += fmt::format(
        "Target {} on {}: {} on {}, {:.1f} of {:.1f} GB free, {:.1f} GB of an earlier run would go.\n",
        target.path, target.host, target.file_system, target.source,
        static_cast<double>(target.available_bytes) / 1e9, static_cast<double>(target.capacity_bytes) / 1e9,
        static_cast<double>(target.earlier_bytes) / 1e9);
  }
  text +=
      fmt::format("Backend: {} asked for; {}.{}\n", run.config.storage.backend, run.effective.backend_reason,
                  run.effective.direct_io ? " Direct I/O is proved when the run starts." : "");
  return text + "Nothing was written (--dry-run).\n";
}

}  // namespace ckptsim::simulator
