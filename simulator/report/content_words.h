#pragma once

#include <string>

#include "simulator/config/run_config.h"

namespace ckptsim::simulator {

// A line for reports, such as "Content: weights, 25 % compressible.\n"; empty for the default.
[[nodiscard]] std::string content_words(const RunConfig& config);

// Whether a drive that compresses or deduplicates could store fewer bytes.
[[nodiscard]] bool has_shrinkable_content(const RunConfig& config);

}  // namespace ckptsim::simulator
