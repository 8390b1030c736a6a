#pragma once

#include <cstdint>

#include "models/transformer.h"

namespace ckptsim::parallelism {

// Sizes of the parallel dimensions and the ZeRO stage (0, 1 or 3).
struct Topology {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t zero_stage = 0;

  // Without overflow once check() has passed.
  [[nodiscard]] std::int64_t ranks() const { return tensor * pipeline * data; }
};

// tp = r mod TP, pp = (r / TP) mod PP, dp = r / (TP PP); mp = pp TP + tp.
struct RankCoordinates {
  std::int64_t rank = 0;
  std::int64_t tensor = 0;
  std::int64_t pipeline = 0;
  std::int64_t data = 0;
  std::int64_t model_parallel = 0;
};
[[nodiscard]] RankCoordinates coordinates_of(const Topology& topology, std::int64_t rank);

// Decoder layers [first, first + count) of a pipeline stage: contiguous runs, the first stages one more.
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
[[nodiscard]] LayerRange layers_of_stage(std::int64_t layers, std::int64_t stages, std::int64_t stage);

// Throws ConfigError naming the key: sizes below 1 or whose product passes 2^31, more stages than layers, TP
// that does not divide a cut dimension (names the parameter and the dimension), an unknown ZeRO stage; a
// model that parameters_at() refuses.
void check(const Topology& topology, const models::Transformer& model);

}  // namespace ckptsim::parallelism
