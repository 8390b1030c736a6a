#pragma once

#include <cstdint>
#include <vector>

#include "models/transformer.h"

namespace ckptsim::parallelism {

// A parameter's shard on one tensor-parallel rank: the cut axis divided by `tensor`, then scaled: matrix
// dimensions x sqrt(scale), vectors x scale, rounded half up, at least 1. `tensor` divides the cut axis
// (check()); throws ConfigError (pointer "/scale") for a scale that is not above 0 or takes a dimension past
// 2^63 - 1.
[[nodiscard]] std::vector<std::int64_t> shard_shape(const models::Parameter& parameter, std::int64_t tensor,
                                                    double scale);

// Elements of a flat slice over `data` ranks: ceil(elements / data); the last one is padded to the same.
[[nodiscard]] std::int64_t slice_elements(std::int64_t elements, std::int64_t data);

// Product of a shape. Throws ConfigError past 2^63 - 1.
[[nodiscard]] std::int64_t element_count(const std::vector<std::int64_t>& shape);

}  // namespace ckptsim::parallelism
