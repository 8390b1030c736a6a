#include "parallelism/rank_shards.h"

#include <utility>

#include "parallelism/sharding.h"

namespace ckptsim::parallelism {
namespace {

using models::Position;

std::vector<Position> positions_of_stage(const models::Transformer& model, const Topology& topology,
                                         std::int64_t stage) {
  std::vector<Position> positions;
  if (stage == 0) positions.push_back({Position::Kind::kFirst, 0});
  const LayerRange layers = layers_of_stage(model.layers, topology.pipeline, stage);
  for (std::int64_t layer = layers.first; layer < layers.first + layers.count; ++layer) {
    positions.push_back({Position::Kind::kLayer, layer});
  }
  if (stage == topology.pipeline - 1) positions.push_back({Position::Kind::kLast, 0});
  return positions;
}

}  // namespace

std::vector<Shard> shards_of_rank(const models::Transformer& model, const Topology& topology, double scale,
                                  const RankCoordinates& at) {
  std::vector<Shard> shards;
  for (const Position& position : positions_of_stage(model, topology, at.pipeline)) {
    for (models::Parameter& parameter : models::parameters_at(model, position)) {
      std::vector<std::int64_t> shape = shard_shape(parameter, topology.tensor, scale);
      shards.push_back({std::move(parameter.name), position, std::move(shape)});
    }
  }
  return shards;
}

}  // namespace ckptsim::parallelism
