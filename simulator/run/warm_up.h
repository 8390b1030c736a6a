#pragma once

#include <memory>
#include <vector>

#include "simulator/run/rank_worker.h"

namespace ckptsim::simulator {

// Touches the buffers of all ranks of this process, on as many threads as it has processors: the first touch
// of memory is slow, and many ranks have gigabytes. Throws std::system_error when no thread can be started.
void warm_up(const std::vector<std::unique_ptr<RankWorker>>& workers);

}  // namespace ckptsim::simulator
