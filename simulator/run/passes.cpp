#include "simulator/run/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "simulator/engine/failure.h"
#include "simulator/run/hang_guard.h"
#include "simulator/run/manifest.h"

namespace ckptsim::simulator {

Passes::Passes(Communicator& communicator, const RunRequest& request, RunMeans& means, Journal& journal,
               Progress& progress, Interruption& interruption, const storage::Clock& clock, RunResult& result)
    : communicator_(communicator),
      config_(request.config),
      profile_(request.profile),
      means_(means),
      workspace_(means.workspace.get()),
      journal_(journal),
      progress_(progress),
      interruption_(interruption),
      clock_(clock),
      result_(result),
      runner_(communicator, means.workers, means.layout.ranks, stall_limit(request.config), progress,
              interruption) {}

void Passes::write_all() {
  const std::int64_t warmups = config_.checkpoint.warmup_passes;
  const std::int64_t passes = config_.checkpoint.passes;
  const auto checkpoints = static_cast<std::uint64_t>(result_.effective.checkpoints_per_pass);
  const auto all = static_cast<std::uint64_t>(warmups + passes);
  progress_.begin_run(all * checkpoints, result_.plan.file_bytes, means_.loading->loads(all, checkpoints));
  for (std::int64_t pass = 1; pass <= warmups; ++pass)
    one_pass(pass, true);
  for (std::int64_t pass = 1; pass <= passes; ++pass)
    one_pass(pass, false);
  if (!means_.loading->at_end()) return;
  PassResult& last = result_.passes.back();
  for (std::size_t i = 0; i < checkpoints; ++i)
    load_checkpoint(last, i, ordinal_ - checkpoints + i);
}

void Passes::one_pass(std::int64_t number, bool warmup) {
  // In the result from its first checkpoint on, so that a failure later in the pass loses none.
  result_.passes.push_back({.pass = number, .warmup = warmup});
  PassResult& pass = result_.passes.back();
  const bool first = result_.passes.size() == 1;
  if (!first && config_.checkpoint.between_passes == "delete") delete_checkpoints(pass);
  for (std::int64_t checkpoint = 1; checkpoint <= result_.effective.checkpoints_per_pass; ++checkpoint) {
    const std::int64_t pause_ns = ordinal_ > 0 ? pause() : 0;
    stop_where_asked(communicator_, interruption_);
    std::optional<CheckpointRunner::WatchedProcesses> watched;
    watched.emplace(runner_, CheckpointRunner::save_task(ordinal_));
    pass.checkpoints.push_back(save_checkpoint(number, warmup, checkpoint, open_mode(first)));
    pass.checkpoints.back().pause_ns = pause_ns;
    summarise_pass(pass);
    keep(pass);
    progress_.end_checkpoint();
    watched.reset();
    if (means_.loading->each()) load_checkpoint(pass, pass.checkpoints.size() - 1, ordinal_ - 1);
  }
}

void Passes::load_checkpoint(PassResult& pass, std::size_t index, std::uint64_t ordinal) {
  stop_where_asked(communicator_, interruption_);
  CheckpointResult& saved = pass.checkpoints[index];
  progress_.begin_load(saved.pass, saved.warmup, saved.checkpoint);
  const CheckpointRunner::WatchedProcesses watched(runner_, CheckpointRunner::load_task(ordinal));
  saved.load =
      means_.loading->load(runner_, *workspace_, means_.workers, saved.checkpoint, {.ordinal = ordinal});
  summarise_pass(pass);
  together(communicator_, ExitCode::kInputOutput, [&] {
    const HangGuard guard(stall_limit_alone(), "writing the journal");
    if (communicator_.process() == 0) journal_.load(saved.pass, saved.warmup, saved.checkpoint, *saved.load);
  });
  progress_.end_load();
}

void Passes::keep(PassResult& pass) {
  const storage::Clock::Time start = clock_.now();
  try {
    together(communicator_, ExitCode::kInputOutput, [&] {
      const HangGuard guard(stall_limit_alone(), "writing the journal");
      if (communicator_.process() == 0) journal_.checkpoint(pass);
    });
  } catch (const RunFailure&) {
    pass.checkpoints.pop_back();  // what the journal could not take is not reported as measured
    summarise_pass(pass);
    throw;
  }
  pass.checkpoints.back().engine.journal_ns = (clock_.now() - start).count();
}

// Of work within a checkpoint. Several processes have neighbours that notice, and one sentence is enough.
std::chrono::nanoseconds Passes::stall_limit_alone() const {
  return communicator_.processes() == 1 ? stall_limit(config_) : std::chrono::nanoseconds{0};
}

storage::OpenMode Passes::open_mode(bool first_pass) const {
  const std::string& policy = config_.checkpoint.between_passes;
  if (first_pass || policy == "delete") return storage::OpenMode::kNew;
  return policy == "overwrite" ? storage::OpenMode::kOverwrite : storage::OpenMode::kTruncate;
}

Sink Passes::sink() const {
  if (means_.writes_nothing()) return Sink::kNowhere;
  const bool synced = means_.choice.direct_io() || config_.checkpoint.fsync != "off";
  return synced ? Sink::kDrive : Sink::kPageCache;
}

void Passes::delete_checkpoints(PassResult& pass) {
  if (workspace_ == nullptr) return;
  const storage::Clock::Time start = clock_.now();
  workspace_->remove_checkpoints(result_.effective.checkpoints_per_pass);
  const storage::Clock::Time deleted = clock_.now();
  pass.delete_ns = (deleted - start).count();
  if (!config_.checkpoint.trim) return;
  workspace_->trim();
  pass.trim_ns = (clock_.now() - deleted).count();
}

CheckpointResult Passes::save_checkpoint(std::int64_t pass, bool warmup, std::int64_t checkpoint,
                                         storage::OpenMode open_mode) {
  CheckpointResult result{.pass = pass, .warmup = warmup, .checkpoint = checkpoint};
  progress_.begin_checkpoint(pass, warmup, checkpoint);

  const storage::Clock::Time start = clock_.now();
  const std::map<long, std::string> folders = make_folders(checkpoint);
  result.prepare_ns = (clock_.now() - start).count();

  const CheckpointJob job{.ordinal = ordinal_++,
                          .content_pass = content_pass(pass, warmup),
                          .checkpoint = checkpoint,
                          .open_mode = open_mode,
                          .profile = profile_};
  CheckpointOutcome outcome = runner_.save(job, folders);

  const storage::Clock::Time done = clock_.now();
  publish_manifests(result, job.content_pass);
  const storage::Clock::Time published = clock_.now();
  result.manifest_ns = (published - done).count();
  if (communicator_.process() == 0) {
    const EngineCost barriers = cost_of_barriers(outcome.ranks, host_name(), outcome.called.count());
    result.engine.start_ns = barriers.start_ns;
    result.engine.finish_ns = barriers.finish_ns;
    result.save = summarise_save(std::move(outcome.ranks), outcome.barrier_to_barrier_ns, sink());
  }
  result.engine.gather_ns = outcome.gather_ns + (clock_.now() - published).count();
  return result;
}

// The folder of each rank of this process, ready for files that no manifest vouches for.
std::map<long, std::string> Passes::make_folders(std::int64_t checkpoint) {
  if (workspace_ != nullptr) {
    const HangGuard guard(stall_limit_alone(), fmt::format("making the folder of checkpoint {}", checkpoint));
    workspace_->remove_manifests(checkpoint);
    workspace_->make_folder(checkpoint);
  }
  std::map<long, std::string> folders;
  for (const auto& worker : means_.workers) {
    const long rank = worker->place().rank;
    folders[rank] = workspace_ == nullptr ? config_.name : workspace_->folder_of(rank, checkpoint);
  }
  return folders;
}

void Passes::publish_manifests(CheckpointResult& result, std::uint64_t content_pass) {
  if (workspace_ == nullptr) return;
  const storage::Clock::Time start = clock_.now();
  const std::string head = manifest_head(config_, {.pass = result.pass,
                                                   .warmup = result.warmup,
                                                   .checkpoint = result.checkpoint,
                                                   .content_pass = content_pass});
  std::map<long, std::string> files;
  for (const auto& worker : means_.workers)
    files[worker->place().rank] = worker->manifest_files();
  const auto manifests = workspace_->gather_manifests(head, files);
  result.engine.manifest_ns = (clock_.now() - start).count();
  const HangGuard guard(stall_limit_alone(),
                        fmt::format("writing the manifest of checkpoint {}", result.checkpoint));
  workspace_->publish_manifests(result.checkpoint, manifests);
}

// Every process waits and listens for a request to end, its own or process 0 another's, whom it then meets at
// the next agreement. Returns how long the pause was.
std::int64_t Passes::pause() {
  if (config_.checkpoint.pause_seconds <= 0) return 0;
  constexpr std::chrono::nanoseconds kTick = std::chrono::milliseconds(50);
  const storage::Clock::Time start = clock_.now();
  const auto pause = std::chrono::duration_cast<storage::Clock::Time>(
      std::chrono::duration<double>(config_.checkpoint.pause_seconds));
  for (storage::Clock::Time left = pause; left.count() > 0; left = start + pause - clock_.now()) {
    if (interruption_.wait_for(std::min(kTick, std::chrono::nanoseconds(left)))) break;
    while (const std::optional<SideMessage> message = communicator_.poll()) {
      if (message->kind == SideMessage::Kind::kInterruption)
        interruption_.ask(static_cast<int>(message->value));
    }
  }
  if (interruption_.asked()) pass_on(communicator_, interruption_);
  return (clock_.now() - start).count();
}

}  // namespace ckptsim::simulator
