#include "simulator/run/run.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "simulator/communicator/packing.h"
#include "simulator/engine/failure.h"
#include "simulator/run/backend_choice.h"
#include "simulator/run/checkpoint_runner.h"
#include "simulator/run/file_limit.h"
#include "simulator/run/hang_guard.h"
#include "simulator/run/manifest.h"
#include "simulator/run/process_binding.h"
#include "simulator/run/process_memory.h"
#include "simulator/run/rank_layout.h"
#include "simulator/run/rank_worker.h"
#include "simulator/run/target_options.h"
#include "simulator/run/warm_up.h"
#include "simulator/run/workspace.h"
#include "storage/content/block_generator.h"
#include "storage/libtorch/load_module.h"

namespace ckptsim::simulator {
namespace {

std::string kernel_release() {
  utsname name{};
  uname(&name);
  return fmt::format("{} {}", name.sysname, name.release);
}

class Run {
 public:
  Run(Communicator& communicator, const RunRequest& request, Journal& journal, Progress& progress)
      : communicator_(communicator),
        config_(request.config),
        dry_run_(request.dry_run),
        profile_(request.profile),
        journal_(journal),
        progress_(progress) {
    result_.command = request.command;
    result_.config = config_;
  }

  RunResult execute() {
    plan_and_place();
    prepare_targets();
    if (dry_run_) {
      result_.status = "dry-run";
      return std::move(result_);
    }
    open_targets();
    on_process_0([&] {
      const HangGuard guard(stall_limit(), "making the folder for the result");
      journal_.begin(result_);
    });
    try {
      remove_earlier_run();
      all_passes();
      result_.status = "complete";
    } catch (const RunFailure& failure) {
      result_.status = "failed";
      result_.failure = failure.what();
      end_failed(failure);
      throw;
    }
    on_process_0([&] {
      const HangGuard guard(stall_limit(), "writing result.json");
      journal_.end(result_);
    });
    progress_.end_run();
    return std::move(result_);
  }

  [[nodiscard]] bool left_threads_behind() const {
    return runner_ != nullptr && runner_->left_threads_behind();
  }

 private:
  template <typename Work>
  void on_process_0(Work&& work) {
    together(communicator_, ExitCode::kInputOutput, [&] {
      if (communicator_.process() == 0) work();
    });
  }

  // The failure is agreed on already; that its result could not be stored either is process 0's to add.
  void end_failed(const RunFailure& failure) {
    if (communicator_.process() != 0) return;
    try {
      const HangGuard guard(stall_limit(),
                            fmt::format("writing result.json after a failure, {}", failure.what()));
      journal_.end(result_);
    } catch (const std::system_error& error) {
      throw RunFailure(failure.code(), fmt::format("{}; and result.json could not be written: {}",
                                                   failure.what(), error.what()));
    }
  }

  void plan_and_place() {
    together(communicator_, ExitCode::kUsage, [&] { result_.plan = make_plan(config_); });
    const auto ranks = static_cast<long>(result_.plan.ranks.size());
    if (communicator_.processes() > ranks) {
      throw RunFailure(
          ExitCode::kUsage,
          fmt::format("{} processes were launched for {} ranks (parallelism.tensor x pipeline x data); "
                      "launch at most {}",
                      communicator_.processes(), ranks, ranks));
    }
    choice_ = choose_backend(communicator_, config_.storage.backend);
    writes_nothing_ = choice_.backend == storage::Backend::kNull;
    if (!writes_nothing_ && config_.storage.targets.empty()) {
      throw RunFailure(
          ExitCode::kUsage,
          "no target: name a folder on the drive to measure with --target DIR (or storage.targets), or "
          "measure the software alone with --backend null");
    }
    check_settings_have_effect();
    load_serializer();
    layout_ = make_rank_layout(communicator_, ranks, writes_nothing_ ? 0 : config_.storage.targets.size());
    check_targets_are_used();
    describe_environment();
  }

  // On every process, before anything is touched: LibTorch is there on all of them or the run stops.
  void load_serializer() {
    if (config_.storage.serializer != "libtorch") return;
    together(communicator_, ExitCode::kUsage, [&] {
      try {
        module_ = &storage::libtorch::load_module();
      } catch (const storage::libtorch::ModuleError& error) {
        throw ConfigError("/storage/serializer",
                          fmt::format("storage.serializer is libtorch, and {}", error.what()));
      }
    });
  }

  // What the chosen backend would ignore is refused: nobody shall believe that it was in force.
  void check_settings_have_effect() const {
    const StorageConfig& storage = config_.storage;
    for (const auto& [asked, key, value] :
         {std::tuple(storage.registered_buffers == "on", "registered_buffers", "on"),
          std::tuple(storage.registered_files, "registered_files", "true"),
          std::tuple(storage.sqpoll, "sqpoll", "true"), std::tuple(storage.iopoll, "iopoll", "true")}) {
      if (!asked || choice_.backend == storage::Backend::kIoUring) continue;
      throw RunFailure(ExitCode::kUsage,
                       fmt::format("storage.{} is {}, which only io_uring can do, not the backend {} ({})",
                                   key, value, storage.backend, choice_.reason));
    }
    if (!writes_nothing_) return;
    if (storage.preallocate) {
      throw RunFailure(ExitCode::kUsage, "storage.preallocate is true, and the backend null has no files");
    }
    if (config_.checkpoint.trim) {
      throw RunFailure(ExitCode::kUsage, "checkpoint.trim is true, and the backend null has no drive");
    }
  }

  void check_targets_are_used() const {
    if (writes_nothing_) return;
    std::map<std::string, std::set<std::size_t>> used;
    for (const RankPlace& place : layout_.ranks)
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

  void describe_environment() {
    Environment& environment = result_.environment;
    for (const RankPlace& place : layout_.ranks) {
      const auto found = std::find(environment.hosts.begin(), environment.hosts.end(), place.host);
      if (found == environment.hosts.end()) {
        environment.hosts.push_back(place.host);
        environment.ranks_on_host.push_back(1);
      } else {
        ++environment.ranks_on_host[static_cast<std::size_t>(found - environment.hosts.begin())];
      }
    }
    environment.kernel = kernel_release();
    environment.communicator = communicator_.description();
    environment.processes = communicator_.processes();
    environment.bindings = gather_bindings(communicator_);
    result_.effective = {.simd = instruction_sets(),
                         .backend = config_.storage.backend,
                         .backend_reason = choice_.reason,
                         .direct_io = choice_.direct_io(),
                         .registered_buffers = false,
                         .registered_reason = "",
                         .serializer = config_.storage.serializer,
                         .libtorch_version = std::string(module_ == nullptr ? "" : module_->torch_version),
                         .torch_dialect = effective_dialect(config_),
                         .checkpoints_per_pass = config_.checkpoint.checkpoints_per_pass.value_or(0),
                         .checkpoints_reason = "as asked"};
    const std::tm now = fmt::gmtime(std::time(nullptr));
    result_.started_utc = communicator_.broadcast(fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", now));
  }

  // Of all processes; several where hosts differ.
  [[nodiscard]] std::string instruction_sets() {
    const std::vector<std::string> all =
        communicator_.all_gather(storage::fastest_block_generator().instruction_set);
    return fmt::format("{}", fmt::join(std::set<std::string>(all.begin(), all.end()), ", "));
  }

  // Everything that can be found out without making anything but the lock.
  void prepare_targets() {
    if (writes_nothing_) return;
    workspace_ = std::make_unique<Workspace>(communicator_, config_, layout_);
    if (config_.storage.iopoll) workspace_->prove_polling();
    if (!dry_run_) workspace_->lock();
    const Capacity capacity = workspace_->checkpoints_that_fit(result_.plan);
    result_.effective.checkpoints_per_pass = capacity.checkpoints;
    result_.effective.checkpoints_reason = capacity.reason;
    result_.environment.targets = workspace_->environment();
  }

  void open_targets() {
    storage::TargetOptions options = target_options(config_, choice_.backend);
    if (workspace_ != nullptr) {
      if (choice_.direct_io()) workspace_->prove_direct_io();
      workspace_->prove_what_comes_later();
      options.io_alignment = workspace_->io_alignment();
      result_.environment.targets = workspace_->environment();
    }
    together(communicator_, ExitCode::kUnsuitable, [&] {
      allow_open_files(open_files_needed());
      for (long i = 0; i < layout_.count_here; ++i) {
        const RankPlace& place = layout_.ranks[static_cast<std::size_t>(layout_.first_here + i)];
        const std::size_t group = workspace_ == nullptr ? 0 : workspace_->group_of(place.rank);
        workers_.push_back(std::make_unique<RankWorker>(
            config_, place, group, storage::make_target(options, clock_), module_, clock_));
      }
    });
    together(communicator_, ExitCode::kUnsuitable, [&] { warm_up(workers_); });
    gather_facts();
    gather_memory();
  }

  // Once every buffer was touched.
  void gather_memory() {
    std::uint64_t buffer_bytes = 0;
    MemoryAreas areas;
    for (const auto& worker : workers_) {
      buffer_bytes += worker->buffer_memory().size();
      areas.push_back(worker->buffer_memory());
    }
    // The last page of a pool may reach past its last buffer.
    const std::uint64_t on_huge_pages = std::min(buffer_bytes, huge_page_bytes(areas));
    double all_buffers = 0;
    double all_on_huge_pages = 0;
    for (const std::string& part :
         communicator_.all_gather(pack({std::to_string(buffer_bytes), std::to_string(on_huge_pages)}))) {
      const std::vector<std::string> field = unpack(part);
      all_buffers += std::stod(field[0]);
      all_on_huge_pages += std::stod(field[1]);
    }
    result_.effective.buffer_bytes_per_rank = workers_.front()->buffer_memory().size();
    result_.effective.huge_page_share = all_on_huge_pages / all_buffers;
  }

  // Registered buffers are reported only where every rank has them.
  void gather_facts() {
    std::vector<std::string> reasons;
    for (const auto& worker : workers_) {
      const storage::TargetFacts facts = worker->facts();
      result_.effective.backend = facts.backend;
      reasons.push_back(facts.registered_buffers ? "" : "not registered: " + facts.registered_reason);
    }
    result_.effective.registered_buffers = true;
    for (const std::string& part : communicator_.all_gather(pack(reasons))) {
      for (const std::string& reason : unpack(part)) {
        if (reason.empty() || !result_.effective.registered_buffers) continue;
        result_.effective.registered_buffers = false;
        result_.effective.registered_reason = reason.substr(reason.find(": ") + 2);
      }
    }
  }

  void remove_earlier_run() {
    if (workspace_ == nullptr) return;
    workspace_->remove_earlier_run();
    result_.environment.targets = workspace_->environment();
  }

  [[nodiscard]] std::uint64_t open_files_needed() const {
    constexpr std::uint64_t kForARank = 4;  // ring, file, folder, one to spare
    std::uint64_t needed = 64;
    for (long i = 0; i < layout_.count_here; ++i) {
      needed += kForARank;
      if (config_.checkpoint.fsync == "end") {
        needed += result_.plan.ranks[static_cast<std::size_t>(layout_.first_here + i)].files;
      }
    }
    return needed;
  }

  [[nodiscard]] std::chrono::nanoseconds stall_limit() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(config_.storage.stall_seconds));
  }

  // Of work within a checkpoint. Several processes have neighbours that notice, and one sentence is enough.
  [[nodiscard]] std::chrono::nanoseconds stall_limit_alone() const {
    return communicator_.processes() == 1 ? stall_limit() : std::chrono::nanoseconds{0};
  }

  void all_passes() {
    runner_ =
        std::make_unique<CheckpointRunner>(communicator_, workers_, layout_.ranks, stall_limit(), progress_);
    const std::int64_t warmups = config_.checkpoint.warmup_passes;
    const std::int64_t passes = config_.checkpoint.passes;
    const auto checkpoints = static_cast<std::uint64_t>(result_.effective.checkpoints_per_pass);
    progress_.begin_run(static_cast<std::uint64_t>(warmups + passes) * checkpoints, result_.plan.file_bytes);
    for (std::int64_t pass = 1; pass <= warmups; ++pass)
      one_pass(pass, true);
    for (std::int64_t pass = 1; pass <= passes; ++pass)
      one_pass(pass, false);
  }

  void one_pass(std::int64_t number, bool warmup) {
    // In the result from its first checkpoint on, so that a failure later in the pass loses none.
    result_.passes.push_back({.pass = number, .warmup = warmup});
    PassResult& pass = result_.passes.back();
    const bool first = result_.passes.size() == 1;
    if (!first && config_.checkpoint.between_passes == "delete") delete_checkpoints(pass);
    for (std::int64_t checkpoint = 1; checkpoint <= result_.effective.checkpoints_per_pass; ++checkpoint) {
      const std::int64_t pause_ns = ordinal_ > 0 ? pause() : 0;
      const CheckpointRunner::WatchedProcesses watched(*runner_, ordinal_);
      CheckpointResult saved = save_checkpoint(number, warmup, checkpoint, open_mode(first));
      saved.pause_ns = pause_ns;
      keep(saved);  // what the journal could not take is not reported as measured
      pass.checkpoints.push_back(std::move(saved));
      summarise_pass(pass);
      progress_.end_checkpoint();
    }
  }

  void keep(CheckpointResult& checkpoint) {
    const storage::Clock::Time start = clock_.now();
    on_process_0([&] {
      const HangGuard guard(stall_limit_alone(), "writing the journal");
      journal_.checkpoint(checkpoint);
    });
    checkpoint.engine.journal_ns = (clock_.now() - start).count();
  }

  [[nodiscard]] storage::OpenMode open_mode(bool first_pass) const {
    const std::string& policy = config_.checkpoint.between_passes;
    if (first_pass || policy == "delete") return storage::OpenMode::kNew;
    return policy == "overwrite" ? storage::OpenMode::kOverwrite : storage::OpenMode::kTruncate;
  }

  [[nodiscard]] Sink sink() const {
    if (writes_nothing_) return Sink::kNowhere;
    const bool synced = choice_.direct_io() || config_.checkpoint.fsync != "off";
    return synced ? Sink::kDrive : Sink::kPageCache;
  }

  void delete_checkpoints(PassResult& pass) {
    if (workspace_ == nullptr) return;
    const storage::Clock::Time start = clock_.now();
    workspace_->remove_checkpoints(result_.effective.checkpoints_per_pass);
    const storage::Clock::Time deleted = clock_.now();
    pass.delete_ns = (deleted - start).count();
    if (!config_.checkpoint.trim) return;
    workspace_->trim();
    pass.trim_ns = (clock_.now() - deleted).count();
  }

  CheckpointResult save_checkpoint(std::int64_t pass, bool warmup, std::int64_t checkpoint,
                                   storage::OpenMode open_mode) {
    CheckpointResult result{.pass = pass, .warmup = warmup, .checkpoint = checkpoint};
    progress_.begin_checkpoint(pass, warmup, checkpoint);

    storage::Clock::Time start = clock_.now();
    std::map<long, std::string> folders;
    if (workspace_ != nullptr) {
      const HangGuard guard(stall_limit_alone(),
                            fmt::format("making the folder of checkpoint {}", checkpoint));
      workspace_->remove_manifests(checkpoint);
      workspace_->make_folder(checkpoint);
    }
    for (const auto& worker : workers_) {
      const long rank = worker->place().rank;
      folders[rank] = workspace_ == nullptr ? config_.name : workspace_->folder_of(rank, checkpoint);
    }
    result.prepare_ns = (clock_.now() - start).count();

    const CheckpointJob job{.ordinal = ordinal_++,
                            .content_pass = content_pass(pass, warmup),
                            .checkpoint = checkpoint,
                            .open_mode = open_mode,
                            .profile = profile_};
    CheckpointOutcome outcome = runner_->save(job, folders);

    start = clock_.now();
    if (workspace_ != nullptr) {
      const std::string head = manifest_head(
          config_,
          {.pass = pass, .warmup = warmup, .checkpoint = checkpoint, .content_pass = job.content_pass});
      std::map<long, std::string> files;
      for (const auto& worker : workers_)
        files[worker->place().rank] = worker->manifest_files();
      const auto manifests = workspace_->gather_manifests(head, files);
      result.engine.manifest_ns = (clock_.now() - start).count();
      const HangGuard guard(stall_limit_alone(),
                            fmt::format("writing the manifest of checkpoint {}", checkpoint));
      workspace_->publish_manifests(checkpoint, manifests);
    }
    const storage::Clock::Time published = clock_.now();
    result.manifest_ns = (published - start).count();
    if (communicator_.process() == 0) {
      const EngineCost barriers = cost_of_barriers(outcome.ranks, host_name(), outcome.called.count());
      result.engine.start_ns = barriers.start_ns;
      result.engine.finish_ns = barriers.finish_ns;
      result.save = summarise_save(std::move(outcome.ranks), outcome.barrier_to_barrier_ns, sink());
    }
    result.engine.gather_ns = outcome.gather_ns + (clock_.now() - published).count();
    return result;
  }

  // The others wait for process 0. Returns how long the pause was.
  [[nodiscard]] std::int64_t pause() const {
    if (config_.checkpoint.pause_seconds <= 0) return 0;
    const storage::Clock::Time start = clock_.now();
    if (communicator_.process() == 0)
      std::this_thread::sleep_for(std::chrono::duration<double>(config_.checkpoint.pause_seconds));
    communicator_.barrier();
    return (clock_.now() - start).count();
  }

  Communicator& communicator_;
  const RunConfig config_;  // its own: a rank that was given up may still read it
  bool dry_run_;
  bool profile_;
  Journal& journal_;
  Progress& progress_;
  storage::SteadyClock clock_;
  BackendChoice choice_;
  bool writes_nothing_ = false;
  const storage::libtorch::Module* module_ = nullptr;  // LibTorch's writer, where it is asked for
  RankLayout layout_;
  std::unique_ptr<Workspace> workspace_;
  std::vector<std::unique_ptr<RankWorker>> workers_;
  std::unique_ptr<CheckpointRunner> runner_;
  std::uint64_t ordinal_ = 0;
  RunResult result_;
};

}  // namespace

RunResult run(Communicator& communicator, const RunRequest& request, Journal& journal, Progress& progress) {
  auto run = std::make_unique<Run>(communicator, request, journal, progress);
  try {
    return run->execute();
  } catch (const RunFailure& failure) {
    if (!run->left_threads_behind()) throw;
    // Never destroyed: threads that are stuck in the kernel still use it, should they ever wake up.
    (void)run.release();
    const bool abort = failure.leaving() == Leaving::kAbort;
    throw RunFailure(failure.code(), failure.what(), abort ? Leaving::kAbort : Leaving::kAtOnce);
  }
}

}  // namespace ckptsim::simulator
