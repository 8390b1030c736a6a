#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/run/rank_layout.h"
#include "simulator/run/rank_worker.h"
#include "simulator/run/result.h"

namespace ckptsim::simulator {

// Under which conditions a run measures, for its result. All are collective and give the same on every
// process.

// Hosts, processes and where they may run; no targets.
[[nodiscard]] Environment describe_environment(Communicator& communicator, const RankLayout& layout);

// Of all processes; several where hosts differ.
[[nodiscard]] std::string instruction_sets(Communicator& communicator);

// What the ranks' targets came to: the backend, and registered buffers, which are reported only where every
// rank has them.
void gather_facts(Communicator& communicator, const std::vector<std::unique_ptr<RankWorker>>& workers,
                  EffectiveSettings& effective);

// Once every buffer was touched.
void gather_memory(Communicator& communicator, const std::vector<std::unique_ptr<RankWorker>>& workers,
                   EffectiveSettings& effective);

}  // namespace ckptsim::simulator
