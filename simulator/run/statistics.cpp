#include "simulator/run/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ckptsim::simulator {

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::optional<double> sample_stdev(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double average = mean(values);
  double squares = 0;
  for (const double value : values)
    squares += (value - average) * (value - average);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace ckptsim::simulator
