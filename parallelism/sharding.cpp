#include "parallelism/sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/checked_arithmetic.h"
#include "models/errors.h"
#include "models/invariant.h"

namespace ckptsim::parallelism {
namespace {

// The least double that a 64-bit signed integer cannot hold.
constexpr double kTooLarge = 9223372036854775808.0;

void check_scale(double scale) {
  if (!std::isfinite(scale) || scale <= 0) {
    throw ConfigError("/scale", fmt::format("scale is {}; it has to be above 0", scale));
  }
}

std::int64_t scaled(std::int64_t dimension, double factor) {
  // round() takes halves away from zero: up, for what is positive.
  const double value = std::round(static_cast<double>(dimension) * factor);
  if (value >= kTooLarge) {
    throw ConfigError("/scale", "scale makes a dimension pass 2^63 - 1; choose a smaller scale");
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(value));
}

}  // namespace

std::vector<std::int64_t> shard_shape(const models::Parameter& parameter, std::int64_t tensor, double scale) {
  check_scale(scale);
  std::vector<std::int64_t> shape = parameter.shape;
  if (parameter.cut) {
    std::int64_t& cut = shape.at(*parameter.cut);
    require(tensor > 0 && cut % tensor == 0, "tensor parallelism divides the axis that it cuts");
    cut /= tensor;
  }
  if (scale == 1.0) return shape;  // whole dimensions never pass through a double
  const double factor = shape.size() == 1 ? scale : std::sqrt(scale);
  for (std::int64_t& dimension : shape) {
    dimension = scaled(dimension, factor);
  }
  return shape;
}

std::int64_t slice_elements(std::int64_t elements, std::int64_t data) {
  require(elements >= 0 && data > 0, "a slice is one of at least one");
  return elements / data + (elements % data != 0 ? 1 : 0);
}

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  return models::checked_element_count(shape);
}

}  // namespace ckptsim::parallelism
