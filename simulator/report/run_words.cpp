#include "simulator/report/run_words.h"

#include <fmt/format.h>

namespace ckptsim::simulator {

std::string pass_name(std::int64_t pass, bool warmup) {
  return warmup ? fmt::format("warm-up {}", pass) : fmt::format("{}", pass);
}

std::string seconds_text(double value) {
  return fmt::format("{:.{}f}", value, value < 1000 ? 3 : 1);
}

}  // namespace ckptsim::simulator
