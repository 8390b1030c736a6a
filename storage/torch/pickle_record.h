#pragma once

#include <cstddef>
#include <vector>

#include "storage/torch/archive_reader.h"
#include "storage/torch/byte_source.h"
#include "storage/torch/pickle_reader.h"

namespace ckptsim::storage::torch {

// Which of the records is data.pkl. Throws FormatError where none is.
[[nodiscard]] std::size_t pickle_record(const ByteSource& file, const std::vector<ArchiveRecord>& records);

// What the pickle, records[pickle], says, each tensor checked against the record that holds it. The record's
// payload_offset is known, and its payload at hand. Throws FormatError with file and offset.
[[nodiscard]] PickleContents read_pickle_record(const ByteSource& file,
                                                const std::vector<ArchiveRecord>& records,
                                                std::size_t pickle);

}  // namespace ckptsim::storage::torch
