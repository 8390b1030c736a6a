#include "simulator/run/run_setup.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <map>
#include <set>
#include <tuple>

#include "simulator/engine/failure.h"
#include "simulator/run/file_limit.h"
#include "simulator/run/run_conditions.h"
#include "simulator/run/target_options.h"
#include "simulator/run/warm_up.h"

namespace ckptsim::simulator {

void RunSetup::plan_and_place() {
  together(communicator_, ExitCode::kUsage, [&] { result_.plan = make_plan(config_); });
  const auto ranks = static_cast<long>(result_.plan.ranks.size());
  if (communicator_.processes() > ranks) {
    throw RunFailure(
        ExitCode::kUsage,
        fmt::format("{} processes were launched for {} ranks (parallelism.tensor x pipeline x data); "
                    "launch at most {}",
                    communicator_.processes(), ranks, ranks));
  }
  means_.choice = choose_backend(communicator_, config_.storage.backend);
  if (!means_.writes_nothing() && config_.storage.targets.empty()) {
    throw RunFailure(
        ExitCode::kUsage,
        "no target: name a folder on the drive to measure with --target DIR (or storage.targets), or "
        "measure the software alone with --backend null");
  }
  check_settings_have_effect();
  load_serializer();
  means_.layout =
      make_rank_layout(communicator_, ranks, means_.writes_nothing() ? 0 : config_.storage.targets.size());
  check_targets_are_used();
  means_.loading = std::make_unique<Loading>(communicator_, config_, means_.layout);
  describe();
}

// On every process, before anything is touched: LibTorch is there on all of them or the run stops.
void RunSetup::load_serializer() {
  if (config_.storage.serializer != "libtorch") return;
  together(communicator_, ExitCode::kUsage, [&] {
    try {
      means_.module = &storage::libtorch::load_module();
    } catch (const storage::libtorch::ModuleError& error) {
      throw ConfigError("/storage/serializer",
                        fmt::format("storage.serializer is libtorch, and {}", error.what()));
    }
  });
}

// What the chosen backend would ignore is refused: nobody shall believe that it was in force.
void RunSetup::check_settings_have_effect() const {
  const StorageConfig& storage = config_.storage;
  const BackendChoice& choice = means_.choice;
  for (const auto& [asked, key, value] :
       {std::tuple(storage.registered_buffers == "on", "registered_buffers", "on"),
        std::tuple(storage.registered_files, "registered_files", "true"),
        std::tuple(storage.sqpoll, "sqpoll", "true"), std::tuple(storage.iopoll, "iopoll", "true")}) {
    if (!asked || choice.backend == storage::Backend::kIoUring) continue;
    throw RunFailure(ExitCode::kUsage,
                     fmt::format("storage.{} is {}, which only io_uring can do, not the backend {} ({})", key,
                                 value, storage.backend, choice.reason));
  }
  if (!means_.writes_nothing()) return;
  if (storage.preallocate) {
    throw RunFailure(ExitCode::kUsage, "storage.preallocate is true, and the backend null has no files");
  }
  if (config_.checkpoint.trim) {
    throw RunFailure(ExitCode::kUsage, "checkpoint.trim is true, and the backend null has no drive");
  }
}

void RunSetup::check_targets_are_used() const {
  if (means_.writes_nothing()) return;
  std::map<std::string, std::set<std::size_t>> used;
  for (const RankPlace& place : means_.layout.ranks)
    used[place.host].insert(place.target);
  for (const auto& [host, targets] : used) {
    if (targets.size() == config_.storage.targets.size()) continue;
    throw RunFailure(
        ExitCode::kUsage,
        fmt::format("{} targets are named and {} has {} rank{}, so that some would never be written; name "
                    "at most as many targets as a host has ranks",
                    config_.storage.targets.size(), host, targets.size(), targets.size() == 1 ? "" : "s"));
  }
}

void RunSetup::describe() {
  result_.environment = describe_environment(communicator_, means_.layout);
  result_.effective = {
      .simd = instruction_sets(communicator_),
      .backend = config_.storage.backend,
      .backend_reason = means_.choice.reason,
      .direct_io = means_.choice.direct_io(),
      .registered_buffers = false,
      .registered_reason = "",
      .serializer = config_.storage.serializer,
      .libtorch_version = std::string(means_.module == nullptr ? "" : means_.module->torch_version),
      .torch_dialect = effective_dialect(config_),
      .checkpoints_per_pass = config_.checkpoint.checkpoints_per_pass.value_or(0),
      .checkpoints_reason = "as asked"};
  const std::tm now = fmt::gmtime(std::time(nullptr));
  result_.started_utc = communicator_.broadcast(fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", now));
}

void RunSetup::prepare_targets(bool lock) {
  if (means_.writes_nothing()) return;
  means_.workspace = std::make_unique<Workspace>(communicator_, config_, means_.layout);
  means_.loading->assign(*means_.workspace);
  if (config_.storage.iopoll) means_.workspace->prove_polling();
  if (lock) means_.workspace->lock();
  const bool resumed = resume_ != nullptr;
  const bool keeps = resumed && resume_->finished > 0;
  if (keeps) means_.workspace->keep_run();
  const Capacity capacity = means_.workspace->checkpoints_that_fit(
      result_.plan, resumed ? resume_->checkpoints_per_pass : config_.checkpoint.checkpoints_per_pass);
  result_.effective.checkpoints_per_pass = capacity.checkpoints;
  result_.effective.checkpoints_reason = resumed ? resume_->checkpoints_reason : capacity.reason;
  result_.environment.targets = means_.workspace->environment();
}

void RunSetup::open_targets() {
  storage::TargetOptions options = target_options(config_, means_.choice.backend);
  const Workspace* workspace = means_.workspace.get();
  if (workspace != nullptr) {
    if (means_.choice.direct_io()) means_.workspace->prove_direct_io(interruption_);
    means_.workspace->prove_what_comes_later();
    options.io_alignment = workspace->io_alignment();
    result_.environment.targets = means_.workspace->environment();
  }
  const RankLayout& layout = means_.layout;
  together(communicator_, ExitCode::kUnsuitable, [&] {
    allow_open_files(open_files_needed());
    for (long i = 0; i < layout.count_here; ++i) {
      const RankPlace& place = layout.ranks[static_cast<std::size_t>(layout.first_here + i)];
      const std::size_t group = workspace == nullptr ? 0 : workspace->group_of(place.rank);
      means_.workers.push_back(std::make_unique<RankWorker>(
          config_, place, group, storage::make_target(options, clock_), means_.module, clock_));
    }
  });
  means_.loading->open(means_.workers);
  together(communicator_, ExitCode::kUnsuitable, [&] { warm_up(means_.workers); });
  gather_facts(communicator_, means_.workers, result_.effective);
  gather_memory(communicator_, means_.workers, result_.effective);
}

std::uint64_t RunSetup::open_files_needed() const {
  constexpr std::uint64_t kForARank = 6;  // ring, file, folder written to, twice, and read from, one to spare
  const RankLayout& layout = means_.layout;
  std::uint64_t needed = 64;
  for (long i = 0; i < layout.count_here; ++i) {
    needed += kForARank;
    if (config_.checkpoint.fsync == "end") {
      needed += result_.plan.ranks[static_cast<std::size_t>(layout.first_here + i)].files;
    }
  }
  return needed;
}

}  // namespace ckptsim::simulator
