#pragma once

#include <string>

#include "storage/torch/file_spec.h"

namespace ckptsim::storage::torch {

// The record data.pkl: the bytes that CPython's C pickler (protocol 2) makes of the dict under torch.save.
// Tensor N of the file, in order of first use, has storage key "N". Throws std::invalid_argument for a dict
// of one entry, equal keys, and shapes with a negative dimension or more than 2^63 bytes.
[[nodiscard]] std::string write_pickle(const FileSpec& file);

}  // namespace ckptsim::storage::torch
