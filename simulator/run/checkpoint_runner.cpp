#include "simulator/run/checkpoint_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>

#include "simulator/communicator/packing.h"
#include "simulator/run/hang_guard.h"
#include "simulator/run/process_memory.h"
#include "simulator/run/rank_load_text.h"
#include "simulator/run/rank_save_text.h"
#include "simulator/run/stall_words.h"
#include "simulator/run/started_thread.h"

namespace ckptsim::simulator {
namespace {

constexpr std::chrono::milliseconds kTick{50};

}  // namespace

// Shared by the ranks' threads and the thread that waits for them.
class CheckpointRunner::Watch {
 public:
  explicit Watch(std::size_t ranks) : running_(ranks), is_running_(ranks, true) {}

  // By the rank's thread; `worker`: its number on this process. A rank that was given up may end yet.
  void rank_ended(std::size_t worker, bool failed) { end(worker, failed); }

  // By the waiting thread. False: the rank has just ended by itself.
  bool give_up(std::size_t worker) { return end(worker, true); }

  // True when all ranks have ended or were given up; false after `pause`, or as soon as a first rank has
  // failed.
  [[nodiscard]] bool wait(std::chrono::milliseconds pause) {
    std::unique_lock lock(mutex_);
    const bool failed_before = failed_;
    changed_.wait_for(lock, pause, [&] { return running_ == 0 || failed_ != failed_before; });
    return running_ == 0;
  }

  [[nodiscard]] bool failed() {
    const std::scoped_lock lock(mutex_);
    return failed_;
  }

  std::latch start{1};
  std::atomic<bool> stop{false};
  bool fails = false;  // the stop is because of a failure, here or elsewhere; of the waiting thread

  void stop_failing() {
    stop = true;
    fails = true;
  }
  std::atomic<std::uint64_t> moved_bytes{0};

 private:
  bool end(std::size_t worker, bool failed) {
    const std::scoped_lock lock(mutex_);
    if (!is_running_[worker]) return false;
    is_running_[worker] = false;
    --running_;
    failed_ = failed_ || failed;
    changed_.notify_one();
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_;
  std::vector<bool> is_running_;
  bool failed_ = false;
};

// The ranks' threads, which wait at the latch until release(). Ends them whatever happens before that: a
// latch that nobody opened is opened here, together with the request to stop.
class CheckpointRunner::Threads {
 public:
  Threads(Watch& watch, const Task& task) : watch_(watch), run_(task.run) {}
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    if (released_) return;
    watch_.stop = true;
    release();
  }

  void start(RankWorker& worker) {
    threads_.push_back(started_thread(fmt::format("for rank {}", worker.place().rank),
                                      [&watch = watch_, run = run_, &worker, number = threads_.size()] {
                                        watch.start.wait();
                                        (worker.*run)();
                                        watch.rank_ended(number, worker.failure().has_value());
                                      }));
  }

  void release() {
    released_ = true;
    watch_.start.count_down();
  }

 private:
  Watch& watch_;
  void (RankWorker::*run_)();
  bool released_ = false;
  std::vector<std::jthread> threads_;  // joined first, while the watch still stands
};

struct CheckpointRunner::InProgress {
  InProgress(std::size_t ranks, const Task& task) : watch(ranks), threads(watch, task) {}
  Watch watch;
  Threads threads;
};

CheckpointRunner::CheckpointRunner(Communicator& communicator,
                                   std::vector<std::unique_ptr<RankWorker>>& workers,
                                   const std::vector<RankPlace>& places, std::chrono::nanoseconds stall_limit,
                                   Progress& progress, Interruption& interruption)
    : communicator_(communicator),
      workers_(workers),
      progress_(progress),
      places_(places),
      stall_limit_(stall_limit),
      interruption_(interruption) {
  progress_wanted_ = communicator_.broadcast(progress_.wanted() ? "1" : "0") == "1";
}

CheckpointRunner::~CheckpointRunner() = default;

CheckpointOutcome CheckpointRunner::save(const CheckpointJob& job,
                                         const std::map<long, std::string>& folders) {
  const storage::Clock::Time called = clock_.now();
  const BetweenBarriers span =
      run_ranks({.id = save_task(job.ordinal),
                 .prepare =
                     [&](RankWorker& worker, Watch& watch) {
                       worker.prepare(job, folders.at(worker.place().rank), watch.moved_bytes, watch.stop);
                     },
                 .run = &RankWorker::run});

  // Not where the run fails anyway: a drive that hangs would not answer this either.
  if (!in_progress_->watch.fails) check_sizes();
  agree_on_failures();
  CheckpointOutcome outcome{.ranks = collect_measurements(span.end),
                            .called = called,
                            .barrier_to_barrier_ns = (span.end - span.begin).count()};
  outcome.gather_ns = (clock_.now() - span.end).count();
  return outcome;
}

void CheckpointRunner::check_sizes() {
  const HangGuard guard(hang_limit(communicator_, stall_limit_),
                        "checking the sizes of a checkpoint's files");
  for (const auto& worker : workers_)
    worker->check_sizes();
}

LoadOutcome CheckpointRunner::load(const LoadJob& job) {
  const BetweenBarriers span =
      run_ranks({.id = load_task(job.ordinal),
                 .prepare = [&](RankWorker& worker,
                                Watch& watch) { worker.prepare_load(job, watch.moved_bytes, watch.stop); },
                 .run = &RankWorker::load});
  agree_on_failures();
  return {.ranks = collect_loads(), .barrier_to_barrier_ns = (span.end - span.begin).count()};
}

CheckpointRunner::BetweenBarriers CheckpointRunner::run_ranks(const Task& task) {
  in_progress_ = std::make_unique<InProgress>(workers_.size(), task);
  Watch& watch = in_progress_->watch;
  given_up_.assign(workers_.size(), std::nullopt);
  together(communicator_, ExitCode::kInputOutput, [&] {
    const HangGuard guard(hang_limit(communicator_, stall_limit_),
                          "getting ready to write or read a checkpoint");
    for (const auto& worker : workers_) {
      task.prepare(*worker, watch);
      in_progress_->threads.start(*worker);
    }
  });

  communicator_.barrier();
  const storage::Clock::Time begin = clock_.now();
  in_progress_->threads.release();
  try {
    wait_for_ranks(watch, task.id);
    communicator_.barrier();
  } catch (const RunFailure&) {  // a process that answers no more: nobody waits for what still runs here
    watch.stop = true;
    left_threads_behind_ = true;
    throw;
  }
  return {.begin = begin, .end = clock_.now()};
}

// Until all ranks here have ended or were given up: passes a failure on, here and to the other processes,
// and carries progress.
void CheckpointRunner::wait_for_ranks(Watch& watch, std::uint32_t task) {
  bool told_others = false;
  StallWatch stalls(stall_limit_, clock_, workers_.size());
  written_by_process_.assign(static_cast<std::size_t>(communicator_.processes()), 0);
  for (bool ended = false; !ended;) {
    ended = watch.wait(kTick);
    stalls.look();
    give_up_stalled_ranks(watch, stalls);
    if (watch.failed() && !told_others) {
      watch.stop_failing();
      tell_others_of_failure(task);
      told_others = true;
    }
    read_messages(task);
    if (neighbour_ != nullptr) neighbour_->look();
    stop_where_interrupted(watch);
    if (progress_wanted_ && !ended) report_progress(watch, task);
  }
}

// Of a rank whose call does not return.
void CheckpointRunner::give_up_stalled_ranks(Watch& watch, StallWatch& stalls) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const auto waiting = stalls.stalled_call(i, workers_[i]->activity());
    if (!waiting.has_value() || !watch.give_up(i)) continue;
    const RankPlace& place = workers_[i]->place();
    given_up_[i] = Failure{.code = ExitCode::kInputOutput,
                           .message = stall_sentence(*waiting, stall_limit_, clock_.now()),
                           .host = place.host,
                           .rank = place.rank};
    left_threads_behind_ = true;
  }
}

void CheckpointRunner::stop_where_interrupted(Watch& watch) {
  if (!interruption_.asked()) return;
  watch.stop = true;
  if (!interruption_passed_on_) pass_on(communicator_, interruption_);
  interruption_passed_on_ = true;
}

void CheckpointRunner::tell_others_of_failure(std::uint32_t task) {
  for (int process = 0; process < communicator_.processes(); ++process) {
    if (process == communicator_.process()) continue;
    communicator_.post(
        process,
        {.kind = SideMessage::Kind::kFailure, .checkpoint = task, .process = communicator_.process()});
  }
}

void CheckpointRunner::read_messages(std::uint32_t task) {
  while (const std::optional<SideMessage> message = communicator_.poll()) {
    if (message->kind == SideMessage::Kind::kInterruption) {
      interruption_.ask(static_cast<int>(message->value));
      continue;
    }
    if (message->checkpoint != task) continue;
    switch (message->kind) {
      case SideMessage::Kind::kFailure:
        if (in_progress_ != nullptr) in_progress_->watch.stop_failing();
        break;
      case SideMessage::Kind::kProgress:
        written_by_process_[static_cast<std::size_t>(message->process)] = message->value;
        break;
      case SideMessage::Kind::kAlive:
      case SideMessage::Kind::kSilent:
        if (neighbour_ != nullptr) neighbour_->heard(*message);
        break;
      case SideMessage::Kind::kInterruption:
        break;
    }
  }
}

CheckpointRunner::WatchedProcesses::WatchedProcesses(CheckpointRunner& runner, std::uint32_t task)
    : runner_(runner) {
  runner.neighbour_ = std::make_unique<NeighbourWatch>(
      runner.communicator_, runner.places_, silence_limit(runner.stall_limit_), runner.clock_, task);
  runner.communicator_.while_waiting([&runner, task, looked = runner.clock_.now()]() mutable {
    if (runner.clock_.now() - looked < kTick) return;
    looked = runner.clock_.now();
    runner.read_messages(task);
    runner.neighbour_->look();
  });
}

void CheckpointRunner::WatchedProcesses::about_to(std::string_view /*doing*/,
                                                  const std::filesystem::path& /*path*/) {
  runner_.neighbour_->tell();
}

CheckpointRunner::WatchedProcesses::~WatchedProcesses() {
  runner_.communicator_.while_waiting({});
  runner_.neighbour_.reset();
}

void CheckpointRunner::report_progress(const Watch& watch, std::uint32_t task) {
  if (communicator_.process() != 0) {
    communicator_.post(0, {.kind = SideMessage::Kind::kProgress,
                           .checkpoint = task,
                           .process = communicator_.process(),
                           .value = watch.moved_bytes});
    return;
  }
  written_by_process_[0] = watch.moved_bytes;
  progress_.written(
      std::accumulate(written_by_process_.begin(), written_by_process_.end(), std::uint64_t{0}));
}

void CheckpointRunner::agree_on_failures() {
  std::optional<Failure> first;
  for (std::size_t i = 0; i < workers_.size() && !first.has_value(); ++i)
    first = given_up_[i].has_value() ? given_up_[i] : workers_[i]->failure();
  // Ranks that had ended all the same have a whole checkpoint, which is kept.
  const bool stopped =
      !first.has_value() &&
      std::any_of(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->stopped(); });
  if (stopped) first = interruption_.failure();
  agree(communicator_, first);
  in_progress_.reset();
}

std::vector<RankSave> CheckpointRunner::collect_measurements(storage::Clock::Time end) {
  std::vector<std::string> mine;
  const std::uint64_t memory = max_rss_bytes();  // of the process: asked for once, not by every rank
  for (const auto& worker : workers_) {
    RankSave save = worker->measured();
    save.max_rss_bytes = memory;
    save.started_ns = worker->started().count();
    save.exit_ns = (end - worker->ended()).count();
    mine.push_back(rank_save_to_text(save));
  }
  std::vector<RankSave> all;
  for (const std::string& part : communicator_.gather(pack(mine), 0)) {
    for (const std::string& text : unpack(part))
      all.push_back(rank_save_from_text(text));
  }
  return all;
}

std::vector<RankLoad> CheckpointRunner::collect_loads() {
  std::vector<std::string> mine;
  for (const auto& worker : workers_)
    mine.push_back(rank_load_to_text(worker->measured_load()));
  std::vector<RankLoad> all;
  for (const std::string& part : communicator_.gather(pack(mine), 0)) {
    for (const std::string& text : unpack(part))
      all.push_back(rank_load_from_text(text));
  }
  return all;
}

}  // namespace ckptsim::simulator
