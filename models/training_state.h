#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/dtype.h"

namespace ckptsim::models {

// One optimizer tensor kept beside a parameter P.
struct StateTensor {
  std::string suffix;  // "state1": the tensor is named P.state1
  Dtype dtype = Dtype::kFloat32;
  // 1: shaped as the shard; 256: flat, one value a block of 256 elements
  std::int64_t elements_per_value = 1;
};

// A tensor that an optimizer file holds once.
struct FixedTensor {
  std::string name;
  Dtype dtype = Dtype::kFloat32;
  std::int64_t elements = 0;
};

// What of a parameter is saved: a recipe is a row of a table (training_state.cpp).
struct TrainingState {
  std::string name;  // "adam8bit", "adam-mixed", "weights-only"
  Dtype weights = Dtype::kBFloat16;
  std::vector<StateTensor> per_parameter;
  std::vector<FixedTensor> per_file;
};

// Throws ConfigError (pointer "/training_state") for an unknown name, naming the known ones.
[[nodiscard]] const TrainingState& training_state(std::string_view name);

}  // namespace ckptsim::models
