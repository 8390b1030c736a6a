#include "simulator/config/nearest_name.h"

#include <algorithm>

namespace ckptsim::simulator {
namespace {

// No name that could be meant is longer; without a limit the table below grows with the square of the input.
constexpr std::size_t kLongestName = 256;

// Shorter beginnings fit too many names to say anything.
constexpr std::size_t kShortestBeginning = 3;

}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right) {
  if (left.size() > kLongestName || right.size() > kLongestName) {
    return left == right ? 0 : std::max(left.size(), right.size());
  }
  const std::size_t width = right.size() + 1;
  std::vector<std::size_t> table((left.size() + 1) * width);
  const auto at = [&](std::size_t row, std::size_t column) -> std::size_t& {
    return table[row * width + column];
  };
  for (std::size_t row = 0; row <= left.size(); ++row) {
    for (std::size_t column = 0; column <= right.size(); ++column) {
      if (row == 0 || column == 0) {
        at(row, column) = row + column;
        continue;
      }
      const std::size_t replaced = at(row - 1, column - 1) + (left[row - 1] == right[column - 1] ? 0 : 1);
      at(row, column) = std::min({replaced, at(row - 1, column) + 1, at(row, column - 1) + 1});
      if (row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1]) {
        at(row, column) = std::min(at(row, column), at(row - 2, column - 2) + 1);
      }
    }
  }
  return at(left.size(), right.size());
}

std::size_t most_slips(std::string_view name) {
  return (name.size() + 2) / 3;
}

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::optional<std::string> nearest;
  std::size_t fewest = most_slips(name) + 1;
  for (const std::string& candidate : candidates) {
    const bool begun = name.size() >= kShortestBeginning && candidate.compare(0, name.size(), name) == 0;
    const std::size_t distance = begun ? 1 : edit_distance(name, candidate);
    if (distance < fewest) {
      fewest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace ckptsim::simulator
