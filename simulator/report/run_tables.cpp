#include "simulator/report/run_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "simulator/report/content_words.h"

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

// Two phases in one column: preallocation stands with creation, the folder's fsync with the files'.
std::string share_text(const SaveResult& save, Phase which, Phase also) {
  return fmt::format("{:.1f}", phase_share(save, which) + (which == also ? 0 : phase_share(save, also)));
}

std::string fsync_words(const std::string& fsync) {
  if (fsync == "file") return "each file is fsynced before the next";
  if (fsync == "end") return "all files are fsynced at the end of the checkpoint";
  return "nothing is fsynced: the figures may be those of memory";
}

std::string bounds(const RunResult& run) {
  std::map<std::string_view, int> count_by_name;
  for (const PassResult& pass : run.passes) {
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      ++count_by_name[bound_name(checkpoint.save.bound)];
    }
  }
  std::vector<std::string> parts;
  parts.reserve(count_by_name.size());
  for (const auto& [name, count] : count_by_name) {
    parts.push_back(fmt::format("{} ({} checkpoint{})", name, count, count == 1 ? "" : "s"));
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
                            share_text(save, Phase::kCreate, Phase::kPreallocate),
                            share_text(save, Phase::kWrite, Phase::kWrite),
                            share_text(save, Phase::kSync, Phase::kDirectorySync),
                            share_text(save, Phase::kClose, Phase::kClose),
                            fmt::format("{:.1f}", 100 * save.idle_share),
                            std::string(bound_name(save.bound))});
    }
  }
  return table;
}

Table pass_table(const RunResult& run) {
  Table table;
  table.columns = {{"pass"},  {"checkpoints"}, {"average s"}, {"stdev s"},
                   {"min s"}, {"max s"},       {"GB/s"},      {"time / pass 1"}};
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
      "{}, {}, TP{} x PP{} x DP{} (ZeRO {}), layout {}: {:.3f} GB a checkpoint in {} files by {} rank{}",
      config.model.name, config.training_state, config.parallelism.tensor, config.parallelism.pipeline,
      config.parallelism.data, config.parallelism.zero_stage, config.checkpoint.layout,
      static_cast<double>(plan.file_bytes) / 1e9, plan.files, plan.ranks.size(),
      plan.ranks.size() == 1 ? "" : "s");
  if (config.scale < 1) text += fmt::format("; SCALED by {} from the whole model", config.scale);
  return text;
}

namespace {

std::string backend_words(const RunResult& run) {
  const EffectiveSettings& effective = run.effective;
  std::string text = fmt::format("Backend {} ({}), blocks of {} KiB, ", effective.backend,
                                 effective.backend_reason, run.config.storage.block_bytes / 1024);
  if (effective.backend == "buffered") return text + "through the page cache, one write at a time a rank.\n";
  if (effective.backend == "direct") return text + "past the page cache, one write at a time a rank.\n";
  if (effective.backend == "null") {
    return text +
           "made and dropped: nothing was written or synced, no drive was measured and no target used.\n";
  }
  text += fmt::format("past the page cache, queue depth {} a rank, ", run.config.storage.queue_depth);
  return text + (effective.registered_buffers
                     ? std::string("registered buffers.\n")
                     : fmt::format("buffers not registered ({}).\n", effective.registered_reason));
}

std::string between_words(const std::string& policy) {
  if (policy == "truncate") return "truncate (from pass 2 on, creating a file includes cutting the old one)";
  if (policy == "overwrite") return "overwrite (from pass 2 on, files are written in place)";
  return "delete (outside the clock)";
}

}  // namespace

std::string conditions(const RunResult& run) {
  const CheckpointConfig& checkpoint = run.config.checkpoint;
  std::string text = backend_words(run) + content_words(run.config);
  if (run.effective.backend == "null") return text;
  text += fmt::format("fsync \"{}\": {}.\n", checkpoint.fsync, fsync_words(checkpoint.fsync));
  text += fmt::format("Between passes: {}. Drive before pass 1: {}.\n",
                      between_words(checkpoint.between_passes), run.config.storage.drive_state);
  text += fmt::format("{} checkpoints a pass ({}).\n", run.effective.checkpoints_per_pass,
                      run.effective.checkpoints_reason);
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
