#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "models/errors.h"
#include "simulator/config/run_config.h"
#include "tests/fuzz/check.h"

namespace ckptsim::fuzz {

// Whether `read` returns a configuration, or refuses with ConfigError. One that is taken reads back to the
// same from its effective text; a refusal is short.
template <typename Read>
bool is_sound_config(Read read) {
  std::string effective;
  try {
    effective = simulator::effective_config(read());
  } catch (const ConfigError& error) {
    require_short(error.what());
    return false;
  }
  require(simulator::effective_config(simulator::parse_run_config(effective, "effective", {})) == effective,
          "an effective configuration reads back to itself");
  return true;
}

}  // namespace ckptsim::fuzz
