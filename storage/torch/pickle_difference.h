#pragma once

#include <string>

#include "storage/torch/file_spec.h"
#include "storage/torch/pickle_reader.h"

namespace ckptsim::storage::torch {

// The first thing in which a pickle that was read differs from the file that was to be written: names, types
// and shapes of tensors, names and values of the rest, and the order of each. Empty where nothing differs.
[[nodiscard]] std::string pickle_difference(const FileSpec& expected, const PickleContents& found);

}  // namespace ckptsim::storage::torch
