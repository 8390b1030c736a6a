#pragma once

#include <string>

#include "simulator/run/result.h"

namespace ckptsim::simulator {

// A rank's measurement as it travels between processes of one run: integers and the host's name, separated by
// blanks. from_text() throws std::invalid_argument for what to_text() did not make.
[[nodiscard]] std::string rank_save_to_text(const RankSave& save);
[[nodiscard]] RankSave rank_save_from_text(const std::string& text);

}  // namespace ckptsim::simulator
