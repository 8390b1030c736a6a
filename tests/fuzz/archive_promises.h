#pragma once

#include <cstdint>
#include <vector>

#include "storage/torch/archive_reader.h"

// What holds of every archive that the readers took, whatever its bytes.
namespace ckptsim::fuzz {

// Each record lies within the file, behind its header and in front of no other's; no name stands twice.
void require_sound_records(std::vector<storage::torch::ArchiveRecord> records, std::uint64_t file_bytes);

// No tensor reaches outside its storage, no name stands twice.
void require_sound_tensors(const std::vector<storage::torch::ArchiveTensor>& tensors);

}  // namespace ckptsim::fuzz
