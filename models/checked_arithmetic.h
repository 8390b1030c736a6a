#pragma once

#include <cstdint>
#include <vector>

namespace ckptsim::models {

// Sizes that follow from a model's dimensions, for values of 0 and above. All throw ConfigError (pointer
// "/model") where the result passes 2^63 - 1.
[[nodiscard]] std::int64_t checked_sum(std::int64_t left, std::int64_t right);
[[nodiscard]] std::int64_t checked_product(std::int64_t left, std::int64_t right);

// Elements of a tensor of this shape; 1 for an empty one (a scalar).
[[nodiscard]] std::int64_t checked_element_count(const std::vector<std::int64_t>& shape);

}  // namespace ckptsim::models
