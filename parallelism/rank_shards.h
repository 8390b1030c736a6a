#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/transformer.h"
#include "parallelism/topology.h"

namespace ckptsim::parallelism {

// A parameter as one model-parallel rank holds it, before ZeRO slices it.
struct Shard {
  std::string name;
  models::Position position;
  std::vector<std::int64_t> shape;
};

// What a rank holds of the model, in the model's order: the embedding on the first stage, its layers, the
// final norm and the output layer on the last. Ranks that differ only in data parallelism hold the same.
[[nodiscard]] std::vector<Shard> shards_of_rank(const models::Transformer& model, const Topology& topology,
                                                double scale, const RankCoordinates& at);

}  // namespace ckptsim::parallelism
