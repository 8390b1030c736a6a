#include "simulator/report/run_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace ckptsim::simulator {
namespace {

std::string pass_name(std::int64_t pass, bool warmup) {
  return warmup ? fmt::format("warm-up {}", pass) : fmt::format("{}", pass);
}

// Seconds to three digits below a thousand, so that runs of milliseconds and of hours both read well.
std::string seconds_text(double value) {
  return fmt::format("{:.{}f}", value, value < 1000 ? 3 : 1);
}

double phase_share(const SaveResult& save, Phase which) {
  std::int64_t all = 0;
  std::int64_t part = 0;
  for (const RankSave& rank : save.ranks) {
    all += rank.duration_ns;
    part += rank.phase_ns[static_cast<std::size_t>(which)];
  }
  return all > 0 ? 100 * static_cast<double>(part) / static_cast<double>(all) : 0;
}

std::string share_text(const SaveResult& save, Phase which) {
  return fmt::format("{:.1f}", phase_share(save, which));
}

std::string fsync_words(const std::string& fsync) {
  if (fsync == "file") return "each file is fsynced before the next";
  if (fsync == "end") return "all files are fsynced at the end of the checkpoint";
  return "nothing is fsynced: the figures may be those of memory";
}

std::string bounds(const RunResult& run) {
  std::map<std::string, int> count_by_words;
  for (const PassResult& pass : run.passes) {
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      const std::string& words = checkpoint.save.bound_words;
      ++count_by_words[words.substr(0, words.find(':'))];
    }
  }
  std::vector<std::string> parts;
  for (const auto& [words, count] : count_by_words) {
    parts.push_back(fmt::format("{} ({} checkpoint{})", words, count, count == 1 ? "" : "s"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

Table checkpoint_table(const RunResult& run) {
  Table table;
  table.columns = {{"pass"},      {"checkpoint"}, {"seconds"},  {"GB/s"},
                   {"straggler"}, {"skew"},       {"create %"}, {"write %"},
                   {"sync %"},    {"close %"},    {"idle %"},   {"bound by", false}};
  for (const PassResult& pass : run.passes) {
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      const SaveResult& save = checkpoint.save;
      table.rows.push_back({pass_name(pass.pass, pass.warmup), fmt::format("{}", checkpoint.checkpoint),
                            seconds_text(seconds(save.duration_ns)),
                            fmt::format("{:.3f}", gb_per_s(save.file_bytes, save.duration_ns)),
                            fmt::format("rank {}", save.straggler_rank), fmt::format("{:.2f}", save.skew),
                            share_text(save, Phase::kCreate), share_text(save, Phase::kWrite),
                            share_text(save, Phase::kSync), share_text(save, Phase::kClose),
                            fmt::format("{:.1f}", 100 * save.idle_share),
                            save.bound_words.substr(0, save.bound_words.find(':'))});
    }
  }
  return table;
}

Table pass_table(const RunResult& run) {
  Table table;
  table.columns = {{"pass"},  {"checkpoints"}, {"average s"}, {"stdev s"},
                   {"min s"}, {"max s"},       {"GB/s"},      {"vs pass 1"}};
  double first_average = 0;
  for (const PassResult& pass : run.passes) {
    if (!pass.warmup && first_average <= 0) first_average = pass.average_s;
    const bool comparable = !pass.warmup && first_average > 0;
    table.rows.push_back(
        {pass_name(pass.pass, pass.warmup), fmt::format("{}", pass.checkpoints.size()),
         seconds_text(pass.average_s),
         pass.stdev_s.has_value() ? seconds_text(*pass.stdev_s) : std::string("-"), seconds_text(pass.min_s),
         seconds_text(pass.max_s), fmt::format("{:.3f}", pass.throughput_gb_per_s),
         comparable ? fmt::format("{:.3f}", pass.average_s / first_average) : std::string("-")});
  }
  return table;
}

std::string headline(const RunConfig& config, const RunPlan& plan) {
  std::string text = fmt::format(
      "{}, {}, TP{} x PP{} x DP{} (ZeRO {}), layout {}: {:.3f} GB a checkpoint in {} files by {} ranks",
      config.model.name, config.training_state, config.parallelism.tensor, config.parallelism.pipeline,
      config.parallelism.data, config.parallelism.zero_stage, config.checkpoint.layout,
      static_cast<double>(plan.file_bytes) / 1e9, plan.files, plan.ranks.size());
  if (config.scale < 1) text += fmt::format("; SCALED by {} from the whole model", config.scale);
  return text;
}

std::string conditions(const RunResult& run) {
  const CheckpointConfig& checkpoint = run.config.checkpoint;
  std::string text = fmt::format("Backend {} ({}), blocks of {} KiB, queue depth {} a rank",
                                 run.effective.backend, run.effective.backend_reason,
                                 run.config.storage.block_bytes / 1024, run.config.storage.queue_depth);
  if (run.effective.backend == "io_uring") {
    text += run.effective.registered_buffers
                ? ", registered buffers"
                : fmt::format(", buffers not registered ({})", run.effective.registered_reason);
  }
  if (run.effective.backend == "null") {
    return text +
           ".\nThe bytes are made and dropped: nothing was written or synced, no drive was measured.\n";
  }
  text += fmt::format(".\nfsync \"{}\": {}.\n", checkpoint.fsync, fsync_words(checkpoint.fsync));
  text += fmt::format("Between passes: {}. Drive before pass 1: {}.\n", checkpoint.between_passes,
                      run.config.storage.drive_state);
  for (const TargetEnvironment& target : run.environment.targets) {
    text += fmt::format("Target {} on {}: {} on {}, {:.1f} GB, {:.1f} GB free before the run.\n", target.path,
                        target.host, target.file_system, target.source,
                        static_cast<double>(target.capacity_bytes) / 1e9,
                        static_cast<double>(target.available_bytes) / 1e9);
  }
  text += fmt::format("Bound by: {}.\n", bounds(run));
  return text;
}

std::string run_report(const RunResult& run, TableFormat format) {
  return headline(run.config, run.plan) + "\n" + conditions(run) + "\n" +
         render(checkpoint_table(run), format) + "\n" + render(pass_table(run), format);
}

}  // namespace ckptsim::simulator
