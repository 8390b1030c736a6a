#pragma once

#include "simulator/config/run_config.h"
#include "storage/target/make_target.h"

namespace ckptsim::simulator {

// What the configuration asks of a rank's target; the I/O alignment is still to be found out.
[[nodiscard]] storage::TargetOptions target_options(const RunConfig& config, storage::Backend backend);

[[nodiscard]] storage::HugePages huge_pages_of(const RunConfig& config);

}  // namespace ckptsim::simulator
