#include "parallelism/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "models/errors.h"
#include "models/invariant.h"

namespace ckptsim::parallelism {
namespace {

using models::Parameter;
using models::Position;
using models::Transformer;

constexpr std::int64_t kMostRanks = std::int64_t{1} << 31;

struct Dimension {
  std::string_view pointer;
  std::string_view key;
  std::int64_t size = 1;
};

// Each size stays below 2^31 before it is multiplied, so no product here can overflow.
void check_sizes(const Topology& topology) {
  const std::array<Dimension, 3> dimensions{
      {{"/parallelism/tensor", "parallelism.tensor", topology.tensor},
       {"/parallelism/pipeline", "parallelism.pipeline", topology.pipeline},
       {"/parallelism/data", "parallelism.data", topology.data}}};
  std::int64_t ranks = 1;
  for (const auto& [pointer, key, size] : dimensions) {
    if (size < 1) {
      throw ConfigError(std::string(pointer), fmt::format("{} is {}; it has to be at least 1", key, size));
    }
    if (size > kMostRanks / ranks) {
      throw ConfigError(
          std::string(pointer),
          fmt::format("{} is {}, which makes more than 2^31 ranks; choose a smaller one", key, size));
    }
    ranks *= size;
  }
}

void check_zero_stage(const Topology& topology) {
  const std::int64_t stage = topology.zero_stage;
  if (stage != 0 && stage != 1 && stage != 3) {
    throw ConfigError(
        "/parallelism/zero_stage",
        fmt::format("parallelism.zero_stage is {}; choose 0 (nothing sliced), 1 (optimizer sliced) or 3 "
                    "(weights and optimizer sliced)",
                    stage));
  }
}

void check_stages(const Topology& topology, const Transformer& model) {
  if (topology.pipeline > model.layers) {
    throw ConfigError(
        "/parallelism/pipeline",
        fmt::format("parallelism.pipeline is {}, but {} has only {} layers; choose at most that many stages",
                    topology.pipeline, model.name, model.layers));
  }
}

// Parameters that tensor parallelism cuts; one layer stands for all, as they are alike.
std::vector<Parameter> cut_parameters(const Transformer& model) {
  std::vector<Parameter> cut;
  for (const Position& position : {Position{Position::Kind::kFirst, 0}, Position{Position::Kind::kLayer, 0},
                                   Position{Position::Kind::kLast, 0}}) {
    for (Parameter& parameter : models::parameters_at(model, position)) {
      if (parameter.cut) cut.push_back(std::move(parameter));
    }
  }
  return cut;
}

void check_cuts(const Topology& topology, const Transformer& model) {
  const std::vector<Parameter> parameters = cut_parameters(model);
  std::int64_t common_divisor = 0;
  for (const Parameter& parameter : parameters) {
    common_divisor = std::gcd(common_divisor, parameter.shape[*parameter.cut]);
  }
  for (const Parameter& parameter : parameters) {
    const std::int64_t dimension = parameter.shape[*parameter.cut];
    if (dimension % topology.tensor != 0) {
      throw ConfigError(
          "/parallelism/tensor",
          fmt::format("parallelism.tensor is {}, which does not divide dimension {} ({}) of {}; choose "
                      "a divisor of {}",
                      topology.tensor, *parameter.cut, dimension, parameter.name, common_divisor));
    }
  }
}

}  // namespace

RankCoordinates coordinates_of(const Topology& topology, std::int64_t rank) {
  require(rank >= 0 && rank < topology.ranks(), "a rank is one of the topology's");
  RankCoordinates at;
  at.rank = rank;
  at.tensor = rank % topology.tensor;
  at.pipeline = rank / topology.tensor % topology.pipeline;
  at.data = rank / (topology.tensor * topology.pipeline);
  at.model_parallel = at.pipeline * topology.tensor + at.tensor;
  return at;
}

LayerRange layers_of_stage(std::int64_t layers, std::int64_t stages, std::int64_t stage) {
  require(layers >= 0 && stage >= 0 && stage < stages, "a pipeline stage is one of the topology's");
  const std::int64_t base = layers / stages;
  const std::int64_t longer_stages = layers % stages;
  return {stage * base + std::min(stage, longer_stages), base + (stage < longer_stages ? 1 : 0)};
}

void check(const Topology& topology, const models::Transformer& model) {
  check_sizes(topology);
  check_zero_stage(topology);
  check_cuts(topology, model);  // refuses a model without layers before stages are held against them
  check_stages(topology, model);
}

}  // namespace ckptsim::parallelism
