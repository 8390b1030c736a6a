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

// Reading a run's checkpoints back: when, whose files by which rank, and the load itself. Every process has
// one; where nothing is to be loaded it does nothing. All references outlive it.
class Loading {
 public:
  Loading(Communicator& communicator, const RunConfig& config, const RankLayout& layout)
      : communicator_(communicator), config_(config), layout_(layout) {}

  [[nodiscard]] bool each() const { return config_.checkpoint.load == "each"; }
  [[nodiscard]] bool at_end() const { return config_.checkpoint.load == "end"; }
  // Of `checkpoints` a pass in `passes`, warm-up passes included.
  [[nodiscard]] std::uint64_t loads(std::uint64_t passes, std::uint64_t checkpoints) const;

  // Whose files each rank will read. Throws RunFailure alike on all processes where load_rank_shift asks for
  // what cannot be.
  void assign(const Workspace& workspace);

  // Collective. The ranks work out what they will read.
  void open(std::vector<std::unique_ptr<RankWorker>>& workers);

  // Collective, after open(). The result is on process 0; elsewhere it is without measurements.
  [[nodiscard]] LoadResult load(CheckpointRunner& runner, const Workspace& workspace,
                                std::vector<std::unique_ptr<RankWorker>>& workers, std::int64_t checkpoint,
                                const LoadJob& job);

 private:
  [[nodiscard]] bool wanted() const { return each() || at_end(); }

  Communicator& communicator_;
  const RunConfig& config_;
  const RankLayout& layout_;
  std::vector<long> read_ranks_;
  storage::SteadyClock clock_;
};

}  // namespace ckptsim::simulator
