#pragma once

#include <cstdint>

#include "simulator/config/run_config.h"

namespace ckptsim::simulator {

// The run's checkpoint made about as small as `wanted_bytes`: the same ranks, and as few layers as the
// pipeline has stages, or more where those are not enough bytes; then `scale`. Fewer layers before a smaller
// scale, because a rank's files stay few and large in that way: a whole model's hundreds of files at a tiny
// scale would measure the opening and syncing of files that are smaller than a block. Never larger than the
// whole model.
[[nodiscard]] RunConfig sized_to(const RunConfig& config, std::uint64_t wanted_bytes);

}  // namespace ckptsim::simulator
