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

void Passes::write_from(std::uint64_t ordinal, bool redone, std::uint64_t loaded) {
  const auto per_pass = static_cast<std::uint64_t>(result_.effective.checkpoints_per_pass);
  const std::uint64_t end = checkpoints_of(config_.checkpoint, result_.effective.checkpoints_per_pass);
  progress_.begin_run(end, result_.plan.file_bytes,
                      loads_of(config_.checkpoint, end, result_.effective.checkpoints_per_pass), ordinal,
                      loaded);
  ordinal_ = ordinal;
  // Interrupted between a checkpoint and its load.
  if (means_.loading->each() && loaded < ordinal) load_last();
  while (ordinal_ < end) {
    write_next(redone && ordinal_ == ordinal);
    ++ordinal_;
    if (means_.loading->each()) load_last();
  }
  if (!means_.loading->at_end()) return;
  for (std::uint64_t i = loaded; i < per_pass; ++i)
    load_checkpoint(result_.passes.back(), i, end - per_pass + i);
}

void Passes::load_last() {
  PassResult& pass = result_.passes.back();
  load_checkpoint(pass, pass.checkpoints.size() - 1, ordinal_ - 1);
}

// A pass of which nothing was finished has no figures: it does not stand in the result.
class Passes::Unfinished {
 public:
  explicit Unfinished(std::vector<PassResult>& passes) : passes_(passes) {}
  ~Unfinished() {
    if (!passes_.empty() && passes_.back().checkpoints.empty()) passes_.pop_back();
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

 private:
  std::vector<PassResult>& passes_;
};

void Passes::write_next(bool redone) {
  const Unfinished nothing_finished(result_.passes);
  const Position position = position_of(ordinal_, config_.checkpoint, result_.effective.checkpoints_per_pass);
  PassResult& pass = begin_pass(position);
  const std::int64_t pause_ns = ordinal_ > 0 ? pause() : 0;
  const CheckpointRunner::WatchedProcesses watched(runner_, CheckpointRunner::save_task(ordinal_));
  stop_where_asked(communicator_, interruption_);  // watched: nobody else notices one that never comes
  CheckpointResult checkpoint = save_checkpoint(position);
  checkpoint.pause_ns = pause_ns;
  checkpoint.redone = redone;
  pass.checkpoints.push_back(std::move(checkpoint));
  summarise_pass(pass);
  keep(pass);
  progress_.end_checkpoint();
}

// In the result from its first checkpoint on, so that a failure later in the pass loses none.
PassResult& Passes::begin_pass(const Position& position) {
  const bool begun = !result_.passes.empty() && result_.passes.back().pass == position.pass &&
                     result_.passes.back().warmup == position.warmup;
  if (begun) return result_.passes.back();
  PassResult& pass = result_.passes.emplace_back();
  pass.pass = position.pass;
  pass.warmup = position.warmup;
  const bool deletes = config_.checkpoint.between_passes == "delete" && !in_first_pass();
  if (deletes && position.checkpoint == 1) delete_checkpoints(pass);
  return pass;
}

// Warm-ups count: nothing was there before it, whatever comes between passes.
bool Passes::in_first_pass() const {
  return ordinal_ < static_cast<std::uint64_t>(result_.effective.checkpoints_per_pass);
}

void Passes::load_checkpoint(PassResult& pass, std::size_t index, std::uint64_t ordinal) {
  const CheckpointRunner::WatchedProcesses watched(runner_, CheckpointRunner::load_task(ordinal));
  stop_where_asked(communicator_, interruption_);
  CheckpointResult& saved = pass.checkpoints[index];
  progress_.begin_load(saved.pass, saved.warmup, saved.checkpoint);
  saved.load =
      means_.loading->load(runner_, *workspace_, means_.workers, saved.checkpoint, {.ordinal = ordinal});
  try {
    together(communicator_, ExitCode::kInputOutput, [&] {
      const HangGuard guard(stall_limit_alone(), "writing the journal");
      if (communicator_.process() == 0)
        journal_.load(saved.pass, saved.warmup, saved.checkpoint, *saved.load);
    });
  } catch (const RunFailure&) {
    saved.load.reset();  // as in keep()
    throw;
  }
  summarise_pass(pass);
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

storage::OpenMode Passes::open_mode() const {
  const std::string& policy = config_.checkpoint.between_passes;
  if (in_first_pass() || policy == "delete") return storage::OpenMode::kNew;
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
  progress_.begin_removal("the pass before");
  workspace_->remove_checkpoints(result_.effective.checkpoints_per_pass, interruption_);
  const storage::Clock::Time deleted = clock_.now();
  pass.delete_ns = (deleted - start).count();
  if (!config_.checkpoint.trim) return;
  workspace_->trim();
  pass.trim_ns = (clock_.now() - deleted).count();
}

CheckpointResult Passes::save_checkpoint(const Position& position) {
  const auto [pass, warmup, checkpoint] = position;
  CheckpointResult result{.pass = pass, .warmup = warmup, .checkpoint = checkpoint};
  progress_.begin_checkpoint(pass, warmup, checkpoint);

  const storage::Clock::Time start = clock_.now();
  const std::map<long, std::string> folders = make_folders(checkpoint);
  result.prepare_ns = (clock_.now() - start).count();

  const CheckpointJob job{.ordinal = ordinal_,
                          .content_pass = content_pass(pass, warmup),
                          .checkpoint = checkpoint,
                          .open_mode = open_mode(),
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
