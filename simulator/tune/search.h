#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "storage/clock.h"

namespace ckptsim::simulator {

// A setting and the values it may take. The first is the configured one, which the search starts from.
struct Dimension {
  std::string key;
  std::vector<std::string> values;
  bool in_product = false;  // tried in every combination with the others that say so
};

// Overrides "key=value", one a dimension, in the order of the dimensions.
using Settings = std::vector<std::string>;

[[nodiscard]] Settings configured_settings(const std::vector<Dimension>& dimensions);

struct Outcome {
  double gb_per_s = 0;
  std::string refusal;  // why these settings cannot be used here; empty: they were measured
};

// Writes with these settings once. The configured ones are never refused: what stops them stops the search,
// by an exception, as does an I/O error with any.
using Measure = std::function<Outcome(const Settings&)>;

struct Trial {
  Settings settings;
  std::vector<double> screened;  // GB/s where settings were looked for
  std::vector<double> compared;  // GB/s in the final comparison, interleaved with the configured settings
  std::string refusal;

  // The figures that count, those of the comparison where it took part in one.
  [[nodiscard]] const std::vector<double>& counted() const { return compared.empty() ? screened : compared; }
};

enum class Verdict {
  kBetter,     // the best settings beat the configured ones by more than the noise
  kNotBetter,  // none did: the best are the configured ones
  kOutOfTime,  // too few comparisons to tell: the configured ones stand
};

struct Found {
  std::vector<Trial> trials;  // in the order of their first measurement, the configured settings first
  std::size_t best = 0;
  Verdict verdict = Verdict::kOutOfTime;
  double gain = 0;              // of the best over the configured settings, by medians; a share
  double noise = 0;             // what the strongest rival had to be better by; a share
  std::size_t comparisons = 0;  // rounds of the final comparison
  std::size_t not_tried = 0;    // settings left out for lack of time
};

// (largest - smallest) / median; 0 for fewer than two values.
[[nodiscard]] double spread(const std::vector<double>& values);

// A coordinate search. First every combination of the dimensions that are `in_product`, the others as
// configured, the fewest changes first and of several changes those that were fastest alone; then the other
// dimensions one by one on what was fastest, each value against a fresh measurement of the fastest so far;
// then the few fastest against the configured settings, in rounds, the order turned every round so that a
// drift cancels. Settings beat the configured ones where the median of their rounds does by more than the
// spread of either's rounds; among such as lie within that noise of each other, the fewest changes win. No
// measurement is begun that would not be expected, by the mean of those before, to end before `deadline`, but
// the first.
[[nodiscard]] Found search(const std::vector<Dimension>& dimensions, const Measure& measure,
                           const storage::Clock& clock, storage::Clock::Time deadline);

}  // namespace ckptsim::simulator
