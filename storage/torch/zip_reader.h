#pragma once

#include <string>
#include <vector>

#include "storage/torch/archive_reader.h"
#include "storage/torch/input_file.h"

namespace ckptsim::storage::torch {

struct ZipContents {
  std::string root;
  std::vector<ArchiveRecord> records;  // in directory order
};

// The central directory of a torch.save archive, each entry checked against its local header and the file's
// bounds, no two records sharing a byte. Throws FormatError for anything that torch does not write:
// compression, encryption, several disks, comments.
[[nodiscard]] ZipContents read_zip(const InputFile& file);

}  // namespace ckptsim::storage::torch
