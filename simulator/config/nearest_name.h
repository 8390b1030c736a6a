#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckptsim::simulator {

// Letters to insert, remove, replace or swap with their neighbour to make one of the other (the optimal
// string alignment distance).
[[nodiscard]] std::size_t edit_distance(std::string_view left, std::string_view right);

// Edits up to which a name of this length is taken for a slip of the pen.
[[nodiscard]] std::size_t most_slips(std::string_view name);

// The candidate that was most likely meant: one that `name` begins, or the nearest by edit distance; the
// first of equals. Empty where none is near.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view name,
                                                      const std::vector<std::string>& candidates);

}  // namespace ckptsim::simulator
