#pragma once

#include <cstdint>
#include <string>

namespace ckptsim::simulator {

// "2", "warm-up 1".
[[nodiscard]] std::string pass_name(std::int64_t pass, bool warmup);

// Seconds to three digits below a thousand, so that runs of milliseconds and of hours both read well.
[[nodiscard]] std::string seconds_text(double value);

}  // namespace ckptsim::simulator
