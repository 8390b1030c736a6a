#include "parallelism/deepspeed_layout.h"

#include <fmt/format.h>

#include <utility>

#include "parallelism/sharding.h"

namespace ckptsim::parallelism {
namespace {

using models::Position;
using models::StateTensor;
using models::TrainingState;
using Shape = std::vector<std::int64_t>;

// What is not sliced is the same on every data-parallel rank: the first one writes it for all.
bool weights_are_sliced(const Topology& topology) {
  return topology.zero_stage == 3;
}
bool optimizer_is_sliced(const Topology& topology) {
  return topology.zero_stage != 0;
}

bool writes_optimizer(const TrainingState& state, const Topology& topology, const RankCoordinates& at) {
  return !state.per_parameter.empty() && (optimizer_is_sliced(topology) || at.data == 0);
}

Shape slice_of(const Shape& shape, const Topology& topology) {
  return {slice_elements(element_count(shape), topology.data)};
}

void append_whole_weight_files(const std::vector<Shard>& shards, const TrainingState& state,
                               const RankCoordinates& at, std::vector<CheckpointFile>& files) {
  CheckpointFile ends{fmt::format("mp_rank_{:02d}_model_states.pt", at.model_parallel), {}, true};
  std::int64_t open_layer = -1;
  for (const Shard& shard : shards) {
    FileTensor weight{shard.name, state.weights, shard.shape};
    if (shard.position.kind != Position::Kind::kLayer) {
      ends.tensors.push_back(std::move(weight));
      continue;
    }
    if (shard.position.layer != open_layer) {
      open_layer = shard.position.layer;
      files.push_back(
          {fmt::format("layer_{:03d}-model_{:02d}-model_states.pt", open_layer, at.tensor), {}, false});
    }
    files.back().tensors.push_back(std::move(weight));
  }
  files.push_back(std::move(ends));
}

CheckpointFile sliced_weight_file(const std::vector<Shard>& shards, const TrainingState& state,
                                  const Topology& topology, const RankCoordinates& at) {
  CheckpointFile file{
      fmt::format("zero_pp_rank_{}_mp_rank_{:02d}_model_states.pt", at.data, at.model_parallel), {}, true};
  file.tensors.reserve(shards.size());
  for (const Shard& shard : shards) {
    file.tensors.push_back({shard.name, state.weights, slice_of(shard.shape, topology)});
  }
  return file;
}

// `covered` is the shard, or the slice of it that the rank keeps optimizer state for.
FileTensor optimizer_tensor(const std::string& parameter, const StateTensor& kept, const Shape& covered) {
  FileTensor tensor{parameter + '.' + kept.suffix, kept.dtype, covered};
  if (kept.elements_per_value != 1) {
    tensor.shape = {
        slice_elements(element_count(covered), kept.elements_per_value)};  // one value a started block
  }
  return tensor;
}

CheckpointFile optimizer_file(const std::vector<Shard>& shards, const TrainingState& state,
                              const Topology& topology, const RankCoordinates& at) {
  CheckpointFile file{
      fmt::format("zero_pp_rank_{}_mp_rank_{:02d}_optim_states.pt", at.data, at.model_parallel), {}, false};
  file.tensors.reserve(shards.size() * state.per_parameter.size() + state.per_file.size());
  for (const Shard& shard : shards) {
    const Shape covered = optimizer_is_sliced(topology) ? slice_of(shard.shape, topology) : shard.shape;
    for (const StateTensor& kept : state.per_parameter) {
      file.tensors.push_back(optimizer_tensor(shard.name, kept, covered));
    }
  }
  for (const models::FixedTensor& fixed : state.per_file) {
    file.tensors.push_back({fixed.name, fixed.dtype, {fixed.elements}});
  }
  return file;
}

// Older C++ readers of torch.save files fail on a dict with exactly one entry.
void avoid_single_entries(std::vector<CheckpointFile>& files) {
  for (CheckpointFile& file : files) {
    if (file.tensors.size() < 2) file.run_state = true;
  }
}

}  // namespace

std::vector<CheckpointFile> deepspeed_files(const std::vector<Shard>& shards, const TrainingState& state,
                                            const Topology& topology, const RankCoordinates& at) {
  std::vector<CheckpointFile> files;
  if (weights_are_sliced(topology)) {
    files.push_back(sliced_weight_file(shards, state, topology, at));
  } else if (at.data == 0) {
    append_whole_weight_files(shards, state, at, files);
  }
  if (writes_optimizer(state, topology, at)) {
    files.push_back(optimizer_file(shards, state, topology, at));
  }
  avoid_single_entries(files);
  return files;
}

}  // namespace ckptsim::parallelism
