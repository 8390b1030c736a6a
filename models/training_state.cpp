#include "models/training_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/errors.h"

namespace ckptsim::models {
namespace {

// Elements that share one absmax in blockwise 8-bit AdamW, and entries of its code tables (bitsandbytes).
constexpr std::int64_t kQuantisationBlock = 256;
constexpr std::int64_t kCodeTableEntries = 256;

// A recipe is a row: name, weights, tensors beside each parameter, tensors once a file.
const std::array<TrainingState, 3>& recipes() {
  static const std::array<TrainingState, 3> table{{
      {"adam8bit",
       Dtype::kBFloat16,
       {{"state1", Dtype::kUInt8, 1},
        {"state2", Dtype::kUInt8, 1},
        {"absmax1", Dtype::kFloat32, kQuantisationBlock},
        {"absmax2", Dtype::kFloat32, kQuantisationBlock}},
       {{"qmap1", Dtype::kFloat32, kCodeTableEntries}, {"qmap2", Dtype::kFloat32, kCodeTableEntries}}},
      {"adam-mixed",
       Dtype::kBFloat16,
       {{"master", Dtype::kFloat32, 1}, {"exp_avg", Dtype::kFloat32, 1}, {"exp_avg_sq", Dtype::kFloat32, 1}},
       {}},
      {"weights-only", Dtype::kBFloat16, {}, {}},
  }};
  return table;
}

std::string known_names() {
  std::string names;
  for (const TrainingState& recipe : recipes()) {
    names += (names.empty() ? "" : ", ") + recipe.name;
  }
  return names;
}

}  // namespace

const TrainingState& training_state(std::string_view name) {
  const auto* const found = std::find_if(recipes().begin(), recipes().end(),
                                         [name](const TrainingState& recipe) { return recipe.name == name; });
  if (found == recipes().end()) {
    throw ConfigError("/training_state", fmt::format("/training_state: '{}' is unknown; choose one of: {}",
                                                     name, known_names()));
  }
  return *found;
}

}  // namespace ckptsim::models
