#pragma once

#include <string_view>

#include "storage/content/values.h"
#include "storage/torch/file_spec.h"

namespace ckptsim::storage::torch {

// What a tensor's values look like, from its element type and its key in the file's dict. Adam's second
// moment ("....exp_avg_sq") and the scales of quantised states ("....absmax1") are never negative.
[[nodiscard]] ValueKind value_kind(std::string_view key, ScalarType type);

}  // namespace ckptsim::storage::torch
