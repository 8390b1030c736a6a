#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/config/run_config.h"
#include "simulator/engine/busy_intervals.h"
#include "simulator/engine/phases.h"
#include "simulator/plan/plan.h"
#include "simulator/run/load_result.h"

namespace ckptsim::simulator {

// What a rank's thread did inside `write` (run --profile). The rest of `write` is waiting for a processor and
// bookkeeping.
struct RankProfile {
  std::int64_t generation_ns = 0;  // content and the structure of the files
  std::int64_t crc_ns = 0;
  std::int64_t submission_ns =
      0;                     // handing blocks to the target; on direct and buffered, the writes themselves
  std::int64_t wait_ns = 0;  // for the drive, with nothing else to do
  friend bool operator==(const RankProfile&, const RankProfile&) = default;
};

// One rank's part of a checkpoint, as it travels to process 0 and into result.json.
struct RankSave {
  std::int64_t rank = 0;
  std::string host;
  std::size_t target = 0;  // its number in environment.targets
  std::uint64_t payload_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t padding_bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t sync_calls = 0;
  std::int64_t duration_ns = 0;
  std::array<std::int64_t, kPhases> phase_ns{};
  // When its clock started, on its host's clock; and from its clock's end to its process leaving the second
  // barrier. Not stored: only what is derived from them.
  std::int64_t started_ns = 0;
  std::int64_t exit_ns = 0;
  std::int64_t idle_ns = 0;
  std::int64_t cpu_ns = 0;  // its thread ran
  std::int64_t cpu_wait_ns =
      0;  // its thread was ready and waited for a processor; -1 where the kernel does not say
  std::uint64_t max_rss_bytes = 0;  // of its process, since that began
  std::optional<RankProfile> profile;
  std::int64_t depth_integral_ns = 0;
  std::int64_t latency_p50_ns = 0;
  std::int64_t latency_p99_ns = 0;
  std::int64_t latency_p999_ns = 0;
  std::int64_t latency_max_ns = 0;
  std::int64_t busy_resolution_ns = 0;
  std::vector<Interval> busy;  // not stored: only what is derived from it
};

// What one target saw of a checkpoint, over the checkpoint's whole duration.
struct TargetSave {
  std::size_t target = 0;          // its number in environment.targets
  std::int64_t idle_ns = 0;        // no data I/O in flight from any of its ranks
  double idle_share = 0;           // of the duration
  std::int64_t resolution_ns = 0;  // gaps shorter than this may be missing from idle_ns (0: none is)
  double mean_depth = 0;           // data I/Os in flight, time-weighted
};

enum class Bound { kDrive, kHost, kMemory, kSync, kOneRank };

// "drive", "host", "memory", "sync", "one_rank": the same in every table and file.
[[nodiscard]] std::string_view bound_name(Bound bound);

struct SaveResult {
  std::int64_t duration_ns = 0;            // the longest rank's
  std::int64_t barrier_to_barrier_ns = 0;  // on process 0
  std::uint64_t payload_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::int64_t straggler_rank = 0;
  double skew = 1;        // longest over median rank
  double idle_share = 0;  // idle_ns over write time, summed over all ranks
  bool generator_bound = false;
  std::optional<double>
      cpu_wait_share;  // cpu_wait_ns over durations, summed over all ranks; none where unknown
  Bound bound = Bound::kDrive;
  std::string bound_words;
  std::vector<TargetSave> targets;
  std::vector<RankSave> ranks;
};

// What the program itself took for a checkpoint beside the ranks' own time, on process 0, waiting for the
// other processes included. What storage takes outside the clock is no part of it: prepare_ns, and the
// writing in manifest_ns.
struct EngineCost {
  std::int64_t start_ns = 0;     // paths, threads, agreement, the barrier: until the first rank runs
  std::int64_t finish_ns = 0;    // from the last rank's end through the second barrier
  std::int64_t gather_ns = 0;    // agreement, sizes asked for, measurements gathered and summed up
  std::int64_t manifest_ns = 0;  // the part of the checkpoint's manifest_ns before anything is written
  std::optional<std::int64_t> journal_ns;  // the journal's line, with its fsync; none in the line itself
};

struct CheckpointResult {
  std::int64_t pass = 0;  // from 1; warm-up passes count by themselves
  bool warmup = false;
  std::int64_t checkpoint = 0;  // from 1
  // Written over what an interrupted attempt had left of it: in no average.
  bool redone = false;
  SaveResult save;
  std::int64_t prepare_ns = 0;   // folders, old manifests: outside the duration
  std::int64_t manifest_ns = 0;  // writing the manifest: outside the duration
  std::int64_t pause_ns = 0;     // before the checkpoint, where pause_seconds asks for it
  EngineCost engine;
  std::optional<LoadResult> load;  // none where it was not read back
};

struct PassResult {
  std::int64_t pass = 0;
  bool warmup = false;
  std::int64_t delete_ns = 0;  // removing the pass before, under `delete`: outside every duration
  std::int64_t trim_ns = 0;    // and trimming, where asked for
  std::vector<CheckpointResult> checkpoints;
  double average_s = 0;
  std::optional<double> stdev_s;  // sample standard deviation; none for a single checkpoint
  double min_s = 0;
  double max_s = 0;
  double throughput_gb_per_s = 0;    // all file bytes over all durations
  std::optional<LoadAverages> load;  // of the checkpoints that were read back
};

// Its checkpoints that count: those of the average.
[[nodiscard]] std::size_t counted(const PassResult& pass);

struct TargetEnvironment {
  std::size_t target = 0;
  std::string host;
  std::string path;
  std::string file_system;
  std::string mount_options;
  std::string source;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t available_bytes = 0;  // before the run
  std::uint64_t available_files = 0;
  std::uint64_t earlier_bytes = 0;  // of that name's earlier run, removed before pass 1
  std::uint64_t io_alignment = 0;
  std::int64_t earlier_files_removed = 0;
  std::int64_t earlier_removal_ns = 0;
};

// How a run really worked, where something was left to the program.
struct EffectiveSettings {
  std::string simd;  // that content was made with: avx512, avx2, portable; several where hosts differ
  std::string backend;
  std::string backend_reason;
  bool direct_io = false;
  bool registered_buffers = false;
  std::string registered_reason;
  std::string serializer;
  std::string libtorch_version;  // of the writer that made the files; empty for stream
  std::uint64_t buffer_bytes_per_rank = 0;
  double huge_page_share = 0;  // of all buffers, once touched
  std::string torch_dialect;
  std::int64_t checkpoints_per_pass = 0;
  std::string checkpoints_reason;
};

// Where a process may run and have its memory, as the kernel lists it ("0-31,64").
struct ProcessBinding {
  int process = 0;
  std::string host;
  std::string processors;
  std::string memory_nodes;
};

struct Environment {
  std::vector<std::string> hosts;  // by first rank
  std::vector<std::int64_t> ranks_on_host;
  std::string kernel;
  std::string communicator;
  int processes = 1;
  std::vector<ProcessBinding> bindings;
  std::vector<TargetEnvironment> targets;
};

// Where a run that had been interrupted went on.
struct ResumeRecord {
  std::string started_utc;
  std::int64_t pass = 0;  // the checkpoint that it began with
  bool warmup = false;
  std::int64_t checkpoint = 0;
  int processes = 1;
  std::vector<std::string> hosts;
  friend bool operator==(const ResumeRecord&, const ResumeRecord&) = default;
};

struct RunResult {
  std::string version;  // of the program that ran; empty: this one
  std::string command;
  std::string started_utc;
  std::string status;   // complete, interrupted, failed
  std::string failure;  // the sentence that it ended with, unless complete
  RunConfig config;
  EffectiveSettings effective;
  Environment environment;
  RunPlan plan;
  std::vector<ResumeRecord> resumes;
  std::vector<PassResult> passes;
};

[[nodiscard]] inline double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}
[[nodiscard]] double gb_per_s(std::uint64_t bytes, std::int64_t ns);
[[nodiscard]] double gb_per_s(double bytes, double ns);  // of sums, which may pass what an integer holds

// Where the bytes of a run end up, as far as a verdict depends on it.
enum class Sink { kDrive, kPageCache, kNowhere };  // kPageCache: buffered and never synced

// EngineCost's start_ns and finish_ns, of all ranks. `called_ns`: when process 0 began, on the clock of
// `host`, where it runs. Ranks that wait for a processor while others run cost the program nothing.
[[nodiscard]] EngineCost cost_of_barriers(const std::vector<RankSave>& ranks, const std::string& host,
                                          std::int64_t called_ns);

// Puts the ranks of a checkpoint together.
[[nodiscard]] SaveResult summarise_save(std::vector<RankSave> ranks, std::int64_t barrier_to_barrier_ns,
                                        Sink sink);

// Fills in the averages from the checkpoints.
void summarise_pass(PassResult& pass);

}  // namespace ckptsim::simulator
