#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/config/run_config.h"
#include "simulator/run/checkpoint_runner.h"
#include "simulator/run/load_result.h"
#include "simulator/run/rank_layout.h"
#include "simulator/run/rank_worker.h"
#include "simulator/run/workspace.h"

namespace ckptsim::simulator {

// Reading a run's checkpoints back: whose files by which rank, and the load itself. All references outlive
// it.
class Loading {
 public:
  // Decides whose files each rank will read. Throws RunFailure alike on all processes where load_rank_shift
  // asks for what cannot be.
  Loading(Communicator& communicator, const RunConfig& config, const RankLayout& layout,
          const Workspace& workspace);

  // Collective. The ranks work out what they will read.
  void open(const std::vector<std::unique_ptr<RankWorker>>& workers);

  // Collective, after open(). The result is on process 0; elsewhere it is without measurements.
  [[nodiscard]] LoadResult load(CheckpointRunner& runner,
                                const std::vector<std::unique_ptr<RankWorker>>& workers,
                                std::int64_t checkpoint, const LoadJob& job);

 private:
  Communicator& communicator_;
  const Workspace& workspace_;
  std::vector<long> read_ranks_;
  storage::SteadyClock clock_;
};

}  // namespace ckptsim::simulator
