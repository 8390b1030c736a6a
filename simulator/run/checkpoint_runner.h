#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/run/interruption.h"
#include "simulator/run/neighbour_watch.h"
#include "simulator/run/progress.h"
#include "simulator/run/rank_layout.h"
#include "simulator/run/rank_worker.h"
#include "simulator/run/stall_watch.h"
#include "storage/call_listener.h"

namespace ckptsim::simulator {

// What is known of a checkpoint once its data is done.
struct CheckpointOutcome {
  std::vector<RankSave> ranks;             // of all ranks, in order, on process 0; empty elsewhere
  storage::Clock::Time called{};           // on this process
  std::int64_t barrier_to_barrier_ns = 0;  // on this process
  std::int64_t gather_ns = 0;              // from the second barrier's end to the return, on this process
};

// What is known of a load once all ranks have read their files.
struct LoadOutcome {
  std::vector<RankLoad> ranks;             // of all ranks, in order, on process 0; empty elsewhere
  std::int64_t barrier_to_barrier_ns = 0;  // on this process
};

// Runs the save or load sequences of this process's ranks, a thread each, between two barriers over all
// processes.
//
// A rank whose target gives no answer for `stall_limit` is given up: its thread may be stuck in the kernel
// for ever. A limit of zero: never.
class CheckpointRunner {
 public:
  // Collective. All references outlive the runner. `places`: of all ranks.
  CheckpointRunner(Communicator& communicator, std::vector<std::unique_ptr<RankWorker>>& workers,
                   const std::vector<RankPlace>& places, std::chrono::nanoseconds stall_limit,
                   Progress& progress, Interruption& interruption);
  // Waits for threads that were left behind.
  ~CheckpointRunner();
  CheckpointRunner(const CheckpointRunner&) = delete;
  CheckpointRunner& operator=(const CheckpointRunner&) = delete;

  // While it stands, and this process waits for its ranks or in a collective, a process that gives no sign
  // of life for silence_limit() ends the run (see NeighbourWatch). What takes long in this thread tells of
  // its calls (storage::CallListener), and with them the neighbour that this process is there.
  class WatchedProcesses final : private storage::CallListener {
   public:
    WatchedProcesses(CheckpointRunner& runner, std::uint32_t task);
    ~WatchedProcesses() override;
    WatchedProcesses(const WatchedProcesses&) = delete;
    WatchedProcesses& operator=(const WatchedProcesses&) = delete;

   private:
    void about_to(std::string_view doing, const std::filesystem::path& path) override;

    CheckpointRunner& runner_;
  };

  // What tells one task's messages from another's: of the save of checkpoint `ordinal`, and of its load.
  [[nodiscard]] static std::uint32_t save_task(std::uint64_t ordinal) {
    return 2 * static_cast<std::uint32_t>(ordinal);
  }
  [[nodiscard]] static std::uint32_t load_task(std::uint64_t ordinal) { return save_task(ordinal) + 1; }

  // Collective. `folders`: by rank, of this process's ranks. Throws RunFailure everywhere when a rank failed,
  // was given up, or was stopped because a process was asked to end.
  [[nodiscard]] CheckpointOutcome save(const CheckpointJob& job, const std::map<long, std::string>& folders);

  // Collective. Reads back what the ranks' loaders were given. Throws as save().
  [[nodiscard]] LoadOutcome load(const LoadJob& job);

  // After a failure: threads of ranks that were given up still use the workers, this runner and all that
  // these refer to. Whoever cannot wait for them destroys none of it.
  [[nodiscard]] bool left_threads_behind() const { return left_threads_behind_; }

 private:
  class Watch;
  class Threads;
  struct InProgress;  // a checkpoint's watch and threads

  // What each rank does between the barriers, and beforehand. `id` tells one task's messages from another's.
  struct Task {
    std::uint32_t id = 0;
    std::function<void(RankWorker&, Watch&)> prepare;
    void (RankWorker::*run)() = nullptr;
  };
  struct BetweenBarriers {
    storage::Clock::Time begin{};
    storage::Clock::Time end{};
  };
  [[nodiscard]] BetweenBarriers run_ranks(const Task& task);

  void check_sizes();
  void wait_for_ranks(Watch& watch, std::uint32_t task);
  void give_up_stalled_ranks(Watch& watch, StallWatch& stalls);
  void tell_others_of_failure(std::uint32_t task);
  void stop_where_interrupted(Watch& watch);
  void read_messages(std::uint32_t task);
  void report_progress(const Watch& watch, std::uint32_t task);
  void agree_on_failures();
  [[nodiscard]] std::vector<RankSave> collect_measurements(storage::Clock::Time end);
  [[nodiscard]] std::vector<RankLoad> collect_loads();

  Communicator& communicator_;
  std::vector<std::unique_ptr<RankWorker>>& workers_;
  Progress& progress_;
  const std::vector<RankPlace>& places_;
  std::chrono::nanoseconds stall_limit_;
  Interruption& interruption_;
  bool interruption_passed_on_ = false;
  bool progress_wanted_ = false;
  storage::SteadyClock clock_;
  std::vector<std::uint64_t> written_by_process_;
  std::unique_ptr<NeighbourWatch> neighbour_;
  std::vector<std::optional<Failure>> given_up_;  // by worker, in this checkpoint
  bool left_threads_behind_ = false;
  std::unique_ptr<InProgress> in_progress_;  // outlives a checkpoint only where threads were left behind
};

}  // namespace ckptsim::simulator
