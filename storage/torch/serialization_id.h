#pragma once

#include <span>
#include <string>

#include "storage/torch/archive_stream.h"

namespace ckptsim::storage::torch {

// The 40 digits of the record .data/serialization_id: 20 of a hash over the names of the records before it
// and 20 of one over their CRCs, folded as torch's PyTorchStreamWriter does (c10::hash_combine). torch hashes
// names with std::hash, which differs between standard libraries; here it is FNV-1a, so that a file is the
// same everywhere.
[[nodiscard]] std::string serialization_id(std::span<const RecordDigest> records);

}  // namespace ckptsim::storage::torch
