#include "simulator/tune/checkpoint_size.h"

#include <algorithm>
#include <cmath>

#include "simulator/plan/plan.h"

namespace ckptsim::simulator {
namespace {

// A scale that people can read and type.
double three_digits(double value) {
  const double step = std::pow(10.0, std::floor(std::log10(value)) - 2);
  return std::round(value / step) * step;
}

}  // namespace

RunConfig sized_to(const RunConfig& config, std::uint64_t wanted_bytes) {
  RunConfig sized = config;
  sized.scale = 1;
  sized.model.layers = std::min(config.model.layers, config.parallelism.pipeline);
  std::uint64_t whole_bytes = make_plan(sized).file_bytes;
  while (whole_bytes < wanted_bytes && sized.model.layers < config.model.layers) {
    sized.model.layers = std::min(config.model.layers, 2 * sized.model.layers);
    whole_bytes = make_plan(sized).file_bytes;
  }
  sized.scale =
      std::min(1.0, three_digits(static_cast<double>(wanted_bytes) / static_cast<double>(whole_bytes)));
  return sized;
}

}  // namespace ckptsim::simulator
