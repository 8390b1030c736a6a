#pragma once

#include <string>

#include "simulator/run/load_result.h"

namespace ckptsim::simulator {

// A rank's measurement of a load as it travels between processes of this program.
[[nodiscard]] std::string rank_load_to_text(const RankLoad& load);

// Throws std::invalid_argument for anything but what rank_load_to_text() made.
[[nodiscard]] RankLoad rank_load_from_text(const std::string& text);

}  // namespace ckptsim::simulator
