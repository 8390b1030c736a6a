#pragma once

#include <vector>

#include "models/training_state.h"
#include "parallelism/checkpoint_files.h"
#include "parallelism/rank_shards.h"
#include "parallelism/topology.h"

namespace ckptsim::parallelism {

// The files that Megatron-DeepSpeed gives a rank, in the order in which it writes them:
//   layer_NNN-model_TT-model_states.pt         a decoder layer's weights; NNN counts the model's, from 0
//   mp_rank_MM_model_states.pt                 embedding or head, and run state; there even without tensors
//   zero_pp_rank_D_mp_rank_MM_model_states.pt  ZeRO-3: slices of all weights, instead of the first two
//   zero_pp_rank_D_mp_rank_MM_optim_states.pt  optimizer state; not for a recipe without one
//
// `shards` are those of the rank at `at`.
[[nodiscard]] std::vector<CheckpointFile> deepspeed_files(const std::vector<Shard>& shards,
                                                          const models::TrainingState& state,
                                                          const Topology& topology,
                                                          const RankCoordinates& at);

}  // namespace ckptsim::parallelism
