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
#include <utility>

#include "simulator/communicator/packing.h"
#include "simulator/run/process_memory.h"
#include "simulator/run/rank_load_text.h"
#include "simulator/run/rank_save_text.h"

namespace ckptsim::simulator {

// Shared by the ranks' threads and the thread that waits for them.
class CheckpointRunner::Watch {
 public:
  explicit Watch(std::size_t ranks) : running_(ranks) {}

  void rank_ended(bool failed) {
    const std::scoped_lock lock(mutex_);
    --running_;
    failed_ = failed_ || failed;
    changed_.notify_one();
  }

  // True when all ranks have ended; false after `pause`, or as soon as a first rank has failed.
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
  std::atomic<std::uint64_t> moved_bytes{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_;
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
    try {
      threads_.emplace_back([&watch = watch_, run = run_, &worker] {
        watch.start.wait();
        (worker.*run)();
        watch.rank_ended(worker.failure().has_value());
      });
    } catch (const std::system_error& error) {
      throw std::system_error(error.code(),
                              fmt::format("cannot start a thread for rank {} (raise the limit on processes, "
                                          "ulimit -u, or launch more processes)",
                                          worker.place().rank));
    }
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

CheckpointRunner::CheckpointRunner(Communicator& communicator,
                                   std::vector<std::unique_ptr<RankWorker>>& workers, Progress& progress,
                                   Interruption& interruption)
    : communicator_(communicator), workers_(workers), progress_(progress), interruption_(interruption) {
  progress_wanted_ = communicator_.broadcast(progress_.wanted() ? "1" : "0") == "1";
}

CheckpointOutcome CheckpointRunner::save(const CheckpointJob& job,
                                         const std::map<long, std::string>& folders) {
  const storage::Clock::Time called = clock_.now();
  const BetweenBarriers span =
      run_ranks({.id = 2 * static_cast<std::uint32_t>(job.ordinal),
                 .prepare =
                     [&](RankWorker& worker, Watch& watch) {
                       worker.prepare(job, folders.at(worker.place().rank), watch.moved_bytes, watch.stop);
                     },
                 .run = &RankWorker::run});

  for (const auto& worker : workers_)
    worker->check_sizes();
  agree_on_failures();
  CheckpointOutcome outcome{.ranks = collect_measurements(span.end),
                            .called = called,
                            .barrier_to_barrier_ns = (span.end - span.begin).count()};
  outcome.gather_ns = (clock_.now() - span.end).count();
  return outcome;
}

LoadOutcome CheckpointRunner::load(const LoadJob& job) {
  const BetweenBarriers span =
      run_ranks({.id = 2 * static_cast<std::uint32_t>(job.ordinal) + 1,
                 .prepare = [&](RankWorker& worker,
                                Watch& watch) { worker.prepare_load(job, watch.moved_bytes, watch.stop); },
                 .run = &RankWorker::load});
  agree_on_failures();
  return {.ranks = collect_loads(), .barrier_to_barrier_ns = (span.end - span.begin).count()};
}

CheckpointRunner::BetweenBarriers CheckpointRunner::run_ranks(const Task& task) {
  Watch watch(workers_.size());
  Threads threads(watch, task);
  together(communicator_, ExitCode::kInputOutput, [&] {
    for (const auto& worker : workers_) {
      task.prepare(*worker, watch);
      threads.start(*worker);
    }
  });

  communicator_.barrier();
  const storage::Clock::Time begin = clock_.now();
  threads.release();
  wait_for_ranks(watch, task.id);
  communicator_.barrier();
  return {.begin = begin, .end = clock_.now()};
}

// Until all ranks here have ended: passes a failure on, here and to the other processes, and carries
// progress.
void CheckpointRunner::wait_for_ranks(Watch& watch, std::uint32_t task) {
  constexpr std::chrono::milliseconds kTick{50};
  bool told_others = false;
  written_by_process_.assign(static_cast<std::size_t>(communicator_.processes()), 0);
  for (bool ended = false; !ended;) {
    ended = watch.wait(kTick);
    if (watch.failed() && !told_others) {
      watch.stop = true;
      tell_others_of_failure(task);
      told_others = true;
    }
    read_messages(watch, task);
    stop_where_interrupted(watch);
    if (progress_wanted_ && !ended) report_progress(watch, task);
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

void CheckpointRunner::read_messages(Watch& watch, std::uint32_t task) {
  while (const std::optional<SideMessage> message = communicator_.poll()) {
    if (message->kind == SideMessage::Kind::kInterruption) {
      interruption_.ask(static_cast<int>(message->value));
      continue;
    }
    if (message->checkpoint != task) continue;
    if (message->kind == SideMessage::Kind::kFailure) {
      watch.stop = true;
    } else {
      written_by_process_[static_cast<std::size_t>(message->process)] = message->value;
    }
  }
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
  for (const auto& worker : workers_) {
    if (!first.has_value()) first = worker->failure();
  }
  // Ranks that had ended all the same have a whole checkpoint, which is kept.
  const bool stopped =
      std::any_of(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->stopped(); });
  if (!first.has_value() && stopped) first = interruption_.failure();
  agree(communicator_, first);
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
