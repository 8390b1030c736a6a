#pragma once

#include <optional>
#include <vector>

namespace ckptsim::simulator {

// Of an empty list: 0.
[[nodiscard]] double mean(const std::vector<double>& values);
[[nodiscard]] double median(std::vector<double> values);  // of an even count, the mean of the middle two

// With n - 1 in the denominator; none for fewer than two values.
[[nodiscard]] std::optional<double> sample_stdev(const std::vector<double>& values);

}  // namespace ckptsim::simulator
