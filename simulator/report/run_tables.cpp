#include "simulator/report/run_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/report/content_words.h"
#include "simulator/report/load_tables.h"
#include "simulator/report/run_words.h"
#include "simulator/run/process_binding.h"
#include "storage/text/printable.h"

namespace ckptsim::simulator {
namespace {

double phase_share(const SaveResult& save, Phase which) {
  double all = 0;
  double part = 0;
  for (const RankSave& rank : save.ranks) {
    all += static_cast<double>(rank.duration_ns);
    part += static_cast<double>(rank.phase_ns[static_cast<std::size_t>(which)]);
  }
  return all > 0 ? 100 * part / all : 0;
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

std::vector<std::string> load_average_cells(const std::optional<LoadAverages>& load) {
  if (!load.has_value()) return {"-", "-", "-"};
  return {seconds_text(load->average_s), load->stdev_s.has_value() ? seconds_text(*load->stdev_s) : "-",
          fmt::format("{:.3f}", load->throughput_gb_per_s)};
}

std::string checkpoints_text(std::int64_t count) {
  return fmt::format("{} checkpoint{}", count, count == 1 ? "" : "s");
}

// What bounded the checkpoints, each with the words of the first that it did.
std::string bounds(const RunResult& run) {
  struct Bounded {
    std::int64_t count = 0;
    std::string words;
  };
  std::map<std::string_view, Bounded> by_name;
  for (const PassResult& pass : run.passes) {
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      Bounded& bounded = by_name[bound_name(checkpoint.save.bound)];
      if (bounded.count++ == 0) bounded.words = checkpoint.save.bound_words;
    }
  }
  std::vector<std::string> parts;
  parts.reserve(by_name.size());
  for (const auto& [name, bounded] : by_name)
    parts.push_back(fmt::format("{} ({})", bounded.words, checkpoints_text(bounded.count)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

Table checkpoint_table(const RunResult& run) {
  Table table;
  table.columns = {{"pass"},   {"checkpoint"}, {"seconds"},        {"GB/s"},   {"straggler"},
                   {"skew"},   {"create %"},   {"write %"},        {"sync %"}, {"close %"},
                   {"idle %"}, {"cpu wait %"}, {"bound by", false}};
  for (const PassResult& pass : run.passes) {
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      const SaveResult& save = checkpoint.save;
      table.rows.push_back(
          {pass_name(pass.pass, pass.warmup),
           fmt::format("{}{}", checkpoint.checkpoint, checkpoint.redone ? " (redone)" : ""),
           seconds_text(seconds(save.duration_ns)),
           fmt::format("{:.3f}", gb_per_s(save.file_bytes, save.duration_ns)),
           fmt::format("rank {}", save.straggler_rank), fmt::format("{:.2f}", save.skew),
           share_text(save, Phase::kCreate, Phase::kPreallocate),
           share_text(save, Phase::kWrite, Phase::kWrite),
           share_text(save, Phase::kSync, Phase::kDirectorySync),
           share_text(save, Phase::kClose, Phase::kClose), fmt::format("{:.1f}", 100 * save.idle_share),
           save.cpu_wait_share.has_value() ? fmt::format("{:.1f}", 100 * *save.cpu_wait_share)
                                           : std::string("-"),
           std::string(bound_name(save.bound))});
    }
  }
  return table;
}

Table pass_table(const RunResult& run) {
  Table table;
  table.columns = {{"pass"},  {"checkpoints"}, {"average s"}, {"stdev s"},
                   {"min s"}, {"max s"},       {"GB/s"},      {"time / pass 1"}};
  const bool loaded = std::any_of(run.passes.begin(), run.passes.end(),
                                  [](const PassResult& pass) { return pass.load.has_value(); });
  if (loaded) {
    for (const char* const column : {"load average s", "load stdev s", "load GB/s"})
      table.columns.push_back({column});
  }
  double first_average = 0;
  for (const PassResult& pass : run.passes) {
    // Redone checkpoints alone make no average.
    if (counted(pass) == 0) {
      table.rows.push_back({pass_name(pass.pass, pass.warmup), "0", "-", "-", "-", "-", "-", "-"});
    } else {
      if (!pass.warmup && first_average <= 0) first_average = pass.average_s;
      const bool comparable = !pass.warmup && first_average > 0;
      table.rows.push_back(
          {pass_name(pass.pass, pass.warmup), fmt::format("{}", counted(pass)), seconds_text(pass.average_s),
           pass.stdev_s.has_value() ? seconds_text(*pass.stdev_s) : std::string("-"),
           seconds_text(pass.min_s), seconds_text(pass.max_s),
           fmt::format("{:.3f}", pass.throughput_gb_per_s),
           comparable ? fmt::format("{:.3f}", pass.average_s / first_average) : std::string("-")});
    }
    if (!loaded) continue;
    for (std::string& cell : load_average_cells(pass.load))
      table.rows.back().push_back(std::move(cell));
  }
  return table;
}

namespace {

// What a rank's time went into, over several checkpoints.
struct ProfileSums {
  double duration_ns = 0;
  std::array<double, kPhases> phase_ns{};
  double generation_ns = 0;
  double crc_ns = 0;
  double submission_ns = 0;
  double wait_ns = 0;

  void add(const RankSave& rank) {
    duration_ns += static_cast<double>(rank.duration_ns);
    for (std::size_t i = 0; i < kPhases; ++i)
      phase_ns[i] += static_cast<double>(rank.phase_ns[i]);
    generation_ns += static_cast<double>(rank.profile->generation_ns);
    crc_ns += static_cast<double>(rank.profile->crc_ns);
    submission_ns += static_cast<double>(rank.profile->submission_ns);
    wait_ns += static_cast<double>(rank.profile->wait_ns);
  }

  [[nodiscard]] double phase(Phase which) const { return phase_ns[static_cast<std::size_t>(which)]; }

  [[nodiscard]] std::vector<std::string> row(std::string name) const {
    const double other_ns = phase(Phase::kWrite) - generation_ns - crc_ns - submission_ns - wait_ns;
    std::vector<std::string> cells = {std::move(name)};
    for (const double part_ns : {generation_ns, crc_ns, submission_ns, wait_ns, other_ns,
                                 phase(Phase::kCreate) + phase(Phase::kPreallocate),
                                 phase(Phase::kSync) + phase(Phase::kDirectorySync), phase(Phase::kClose)}) {
      const double share = duration_ns > 0 ? part_ns / duration_ns : 0;
      cells.push_back(fmt::format("{:.1f}", 100 * share));
    }
    return cells;
  }
};

}  // namespace

Table profile_table(const RunResult& run) {
  Table table;
  table.columns = {{"rank"},          {"generate %"}, {"crc %"},   {"submit %"}, {"wait %"},
                   {"other write %"}, {"create %"},   {"fsync %"}, {"close %"}};
  std::map<std::int64_t, ProfileSums> by_rank;
  ProfileSums all;
  for (const PassResult& pass : run.passes) {
    if (pass.warmup) continue;
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      for (const RankSave& rank : checkpoint.save.ranks) {
        if (!rank.profile.has_value()) continue;
        by_rank[rank.rank].add(rank);
        all.add(rank);
      }
    }
  }
  for (const auto& [rank, sums] : by_rank)
    table.rows.push_back(sums.row(fmt::format("{}", rank)));
  if (!by_rank.empty()) table.rows.push_back(all.row("all"));
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
  const StorageConfig& storage = run.config.storage;
  text += fmt::format("past the page cache, queue depth {} a rank, ", storage.queue_depth);
  text += effective.registered_buffers
              ? std::string("registered buffers")
              : fmt::format("buffers not registered ({})", effective.registered_reason);
  if (storage.registered_files) text += ", registered files";
  if (storage.sqpoll) text += ", submissions polled by a kernel thread a rank (SQPOLL)";
  if (storage.iopoll) text += ", completions polled for (IOPOLL)";
  return text + ".\n";
}

// The program's own writer is the rule and needs no words.
std::string serializer_words(const EffectiveSettings& effective) {
  if (effective.serializer != "libtorch") return {};
  return fmt::format(
      "Serializer libtorch: the files are made by LibTorch {}'s own writer, from whole tensors.\n",
      effective.libtorch_version);
}

std::string between_words(const std::string& policy) {
  if (policy == "truncate") return "truncate (from pass 2 on, creating a file includes cutting the old one)";
  if (policy == "overwrite") return "overwrite (from pass 2 on, files are written in place)";
  return "delete (outside the clock)";
}

}  // namespace

std::string target_lines(const Environment& environment) {
  std::string text;
  for (const TargetEnvironment& target : environment.targets) {
    text += fmt::format("Target {} on {}: {} on {}, {:.1f} GB, {:.1f} GB free before the run.\n", target.path,
                        target.host, target.file_system, target.source,
                        static_cast<double>(target.capacity_bytes) / 1e9,
                        static_cast<double>(target.available_bytes) / 1e9);
  }
  return text;
}

namespace {

std::string removal_lines(const Environment& environment) {
  std::string text;
  for (const TargetEnvironment& target : environment.targets) {
    if (target.earlier_files_removed == 0) continue;
    text += fmt::format(
        "An earlier run of this name was removed from {} on {} first: {} file{} ({:.2f} GB) in {:.2f} s.\n",
        target.path, target.host, target.earlier_files_removed, target.earlier_files_removed == 1 ? "" : "s",
        static_cast<double>(target.earlier_bytes) / 1e9, seconds(target.earlier_removal_ns));
  }
  return text;
}

// The rest between is a condition that another run did not have.
std::string resume_words(const RunResult& run) {
  if (run.resumes.empty()) return {};
  std::vector<std::string> places;
  places.reserve(run.resumes.size());
  for (const ResumeRecord& resume : run.resumes) {
    places.push_back(fmt::format("{} {}, checkpoint {}", resume.warmup ? "warm-up pass" : "pass", resume.pass,
                                 resume.checkpoint));
  }
  std::size_t redone = 0;
  for (const PassResult& pass : run.passes)
    redone += pass.checkpoints.size() - counted(pass);
  std::string text = fmt::format("RESUMED after an interruption, at {}: the drive had a rest there.",
                                 fmt::join(places, "; "));
  if (redone > 0)
    text += fmt::format(" {} redone, in no average.", checkpoints_text(static_cast<std::int64_t>(redone)));
  return text + "\n";
}

}  // namespace

std::string conditions(const RunResult& run) {
  const CheckpointConfig& checkpoint = run.config.checkpoint;
  std::string text = backend_words(run) + serializer_words(run.effective) + content_words(run.config);
  text +=
      fmt::format("Content made with {}; {:.1f} MiB of buffers a rank, {:.0f} % of them on huge pages; {}.\n",
                  run.effective.simd, static_cast<double>(run.effective.buffer_bytes_per_rank) / (1U << 20U),
                  100 * run.effective.huge_page_share, binding_words(run.environment.bindings));
  if (run.effective.backend == "null") return text;
  text += fmt::format("fsync \"{}\": {}.\n", checkpoint.fsync, fsync_words(checkpoint.fsync));
  if (run.passes.size() > 1) {
    text += fmt::format("Between passes: {}. ", between_words(checkpoint.between_passes));
  }
  text += fmt::format("Drive before pass 1: {}.\n", run.config.storage.drive_state);
  text += fmt::format("{} a pass ({}).\n", checkpoints_text(run.effective.checkpoints_per_pass),
                      run.effective.checkpoints_reason);
  text += target_lines(run.environment);
  text += removal_lines(run.environment);
  text += fmt::format("Bound by: {}.\n", bounds(run));
  return text + load_conditions(run) + resume_words(run);
}

std::string run_report(const RunResult& run, TableFormat format) {
  const Table profile = profile_table(run);
  // A result may come from a file that somebody sent; tables see to their own cells.
  const std::string words = fmt::format("{}\n{}", headline(run.config, run.plan), conditions(run));
  std::string text = fmt::format("{}\n{}\n{}", storage::printable_lines(words),
                                 render(checkpoint_table(run), format), render(pass_table(run), format));
  const Table loads = load_table(run);
  if (!loads.rows.empty()) text += fmt::format("\n{}", render(loads, format));
  if (!profile.rows.empty()) text += fmt::format("\n{}", render(profile, format));
  return text;
}

}  // namespace ckptsim::simulator
