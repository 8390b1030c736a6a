#pragma once

#include <cstdint>

#include "simulator/config/run_config.h"
#include "storage/content/content.h"

namespace ckptsim::simulator {

[[nodiscard]] storage::ContentSettings content_settings(const RunConfig& config);

// Whether content.duplicate_fraction can be reached in a checkpoint of `payload_bytes`, as a count of the 4
// KiB blocks of its files shows it: the blocks that others repeat are not repeats themselves, and where
// payloads do not begin at multiples of 4 KiB they count once for each place in a block at which they begin.
// Throws ConfigError when they would be more than half a hundredth of the checkpoint.
void check_duplicates(const RunConfig& config, std::uint64_t payload_bytes);

}  // namespace ckptsim::simulator
