#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/run/interruption.h"
#include "simulator/run/progress.h"
#include "simulator/run/rank_worker.h"

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
class CheckpointRunner {
 public:
  // Collective. All references outlive the runner.
  CheckpointRunner(Communicator& communicator, std::vector<std::unique_ptr<RankWorker>>& workers,
                   Progress& progress, Interruption& interruption);

  // Collective. `folders`: by rank, of this process's ranks. Throws RunFailure everywhere when a rank failed,
  // or was stopped because a process was asked to end.
  [[nodiscard]] CheckpointOutcome save(const CheckpointJob& job, const std::map<long, std::string>& folders);

  // Collective. Reads back what the ranks' loaders were given. Throws as save().
  [[nodiscard]] LoadOutcome load(const LoadJob& job);

 private:
  class Watch;
  class Threads;

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

  void wait_for_ranks(Watch& watch, std::uint32_t task);
  void tell_others_of_failure(std::uint32_t task);
  void stop_where_interrupted(Watch& watch);
  void read_messages(Watch& watch, std::uint32_t task);
  void report_progress(const Watch& watch, std::uint32_t task);
  void agree_on_failures();
  [[nodiscard]] std::vector<RankSave> collect_measurements(storage::Clock::Time end);
  [[nodiscard]] std::vector<RankLoad> collect_loads();

  Communicator& communicator_;
  std::vector<std::unique_ptr<RankWorker>>& workers_;
  Progress& progress_;
  Interruption& interruption_;
  bool interruption_passed_on_ = false;
  bool progress_wanted_ = false;
  storage::SteadyClock clock_;
  std::vector<std::uint64_t> written_by_process_;
};

}  // namespace ckptsim::simulator
