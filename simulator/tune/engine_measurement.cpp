#include "simulator/tune/engine_measurement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "simulator/engine/failure.h"
#include "simulator/run/run.h"
#include "simulator/tune/checkpoint_size.h"
#include "storage/drive/file_system.h"

namespace ckptsim::simulator {
namespace {

constexpr std::uint64_t kFirstBytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20U;
constexpr std::uint64_t kSeeds = std::uint64_t{1} << 53U;  // the schema's seeds, from 0
constexpr std::uint64_t kBuffersBesidesTheQueue = 2;

// Tuning makes no result folder: what it finds is printed.
class NoJournal final : public Journal {
 public:
  void begin(const RunResult& /*run*/) override {}
  void checkpoint(const PassResult& /*pass*/) override {}
  void load(std::int64_t /*pass*/, bool /*warmup*/, std::int64_t /*checkpoint*/,
            const LoadResult& /*load*/) override {}
  void end(const RunResult& /*run*/) override {}
};

// One checkpoint on new files, whatever rhythm the run itself has.
const std::vector<std::string>& one_checkpoint() {
  static const std::vector<std::string> overrides = {
      std::string("name=") + kTuneRunName,
      "checkpoint.passes=1",
      "checkpoint.checkpoints_per_pass=1",
      "checkpoint.warmup_passes=0",
      "checkpoint.between_passes=truncate",
      "checkpoint.trim=false",
      "checkpoint.load=none",
      "checkpoint.load_rank_shift=false",
      "checkpoint.pause_seconds=0",
  };
  return overrides;
}

// Half of what is free on the fullest target.
std::uint64_t room(const std::vector<std::string>& targets) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const std::string& target : targets)
    least = std::min(least, storage::file_system_facts(target).available_bytes);
  return std::max(kLeastBytes, least / 2);
}

// All ranks are threads here, so that large blocks and depths of many ranks are this host's memory.
std::string memory_refusal(const RunConfig& config) {
  const auto ranks = static_cast<std::uint64_t>(config.parallelism.tensor * config.parallelism.pipeline *
                                                config.parallelism.data);
  const std::uint64_t needed =
      ranks * config.storage.block_bytes * (config.storage.queue_depth + kBuffersBesidesTheQueue);
  const std::uint64_t memory =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (needed <= memory / 4) return "";
  return fmt::format("{} bytes of buffers for {} ranks are more than a quarter of this host's memory", needed,
                     ranks);
}

}  // namespace

EngineMeasurement::EngineMeasurement(const RunConfig& config, bool whole_shape, const OwnFolders& folders,
                                     Progress& progress, Interruption& interruption)
    : config_(config),
      sized_(whole_shape ? config : sized_to(config, kFirstBytes)),
      folders_(folders),
      progress_(progress),
      interruption_(interruption),
      communicator_(make_serial_communicator()) {}

void EngineMeasurement::check() {
  NoJournal journal;
  Progress nobody;
  const RunRequest request{.config = config_with({}), .command = "", .dry_run = true};
  (void)run(*communicator_, request, journal, nobody, interruption_);
}

void EngineMeasurement::choose_size(double seconds_wanted, const storage::Clock& clock,
                                    storage::Clock::Time deadline) {
  constexpr int kSteps = 5;
  constexpr double kLongestStep = 16;  // a first figure may be that of a cache
  const auto most = static_cast<double>(room(config_.storage.targets));
  auto wanted = static_cast<double>(kFirstBytes);
  std::uint64_t bytes_before = 0;
  for (int step = 0; step < kSteps && clock.now() < deadline; ++step) {
    sized_ = sized_to(config_, static_cast<std::uint64_t>(std::min(wanted, most)));
    const std::uint64_t planned = make_plan(sized_).file_bytes;
    if (planned == bytes_before) return;  // as large as it gets
    bytes_before = planned;
    const double took = seconds(write_checkpoint({}).duration_ns);
    if (took >= 0.6 * seconds_wanted && took <= 1.5 * seconds_wanted) return;
    wanted = static_cast<double>(planned) * std::clamp(seconds_wanted / took, 1 / kLongestStep, kLongestStep);
  }
}

RunConfig EngineMeasurement::config_with(const Settings& settings) const {
  RunConfig config = sized_;
  // No checkpoint repeats another's bytes, so that a drive cannot deduplicate them.
  config.content_seed = (config.content_seed + facts_.checkpoints) % kSeeds;
  std::vector<std::string> overrides = one_checkpoint();
  overrides.insert(overrides.end(), settings.begin(), settings.end());
  return parse_run_config(effective_config(config), "the configuration of tune", overrides);
}

const SaveResult& EngineMeasurement::write_checkpoint(const Settings& settings) {
  NoJournal journal;
  const RunRequest request{.config = config_with(settings), .command = ""};
  last_ = run(*communicator_, request, journal, progress_, interruption_);
  const SaveResult& save = last_.passes.front().checkpoints.front().save;
  ++facts_.checkpoints;
  facts_.written_bytes += save.file_bytes;
  return save;
}

Outcome EngineMeasurement::measure(const Settings& settings, const Settings& start) {
  const bool is_configured = settings == start;
  try {
    if (!is_configured) {
      const std::string refusal = memory_refusal(config_with(settings));
      if (!refusal.empty()) return {.refusal = refusal};
    }
    const SaveResult& save = write_checkpoint(settings);
    if (facts_.bounds.empty()) facts_.first = last_;
    ++facts_.bounds[std::string(bound_name(save.bound))];
    if (!last_.effective.registered_buffers) {
      ++facts_.unregistered;
      facts_.unregistered_reason = last_.effective.registered_reason;
    }
    return {.gb_per_s = gb_per_s(save.file_bytes, save.duration_ns)};
  } catch (const RunFailure& failure) {
    const bool refused = failure.code() == ExitCode::kUsage || failure.code() == ExitCode::kUnsuitable;
    if (is_configured || !refused) throw;
    folders_.remove();  // throws where the target itself can be written no more: no setting's fault
    return {.refusal = failure.what()};
  } catch (const ConfigError& error) {
    if (is_configured) throw;
    return {.refusal = error.what()};
  }
}

}  // namespace ckptsim::simulator
