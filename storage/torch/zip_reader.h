#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/torch/archive_reader.h"
#include "storage/torch/byte_source.h"
#include "storage/torch/zip_format.h"

namespace ckptsim::storage::torch {

struct ZipContents {
  std::string root;
  std::vector<ArchiveRecord> records;  // in directory order
};

// The central directory of a torch.save archive, each entry checked against its local header and the file's
// bounds, no two records sharing a byte. Throws FormatError for anything that torch does not write:
// compression, encryption, several disks, comments.
[[nodiscard]] ZipContents read_zip(const ByteSource& file);

// The steps of read_zip(), for who has a part of the file in memory at a time.

// Where the directory is, by the records at the end of the file: the last kTailBytes where torch wrote it.
[[nodiscard]] ZipDirectory find_directory(const ByteSource& file);

// The directory's entries. Where a payload begins says its local header alone: payload_offset is 0.
[[nodiscard]] ZipContents read_directory(const ByteSource& file, const ZipDirectory& directory);

// Finds a record's payload behind its local header, and that both headers speak of the same record.
void read_local_header(const ByteSource& file, const ZipDirectory& directory, const std::string& root,
                       ArchiveRecord& record);

// Of a local header, kLocalHeaderBytes and the name: how many bytes are between them and the payload. None
// where it is not the header of `name`, which has the root folder.
[[nodiscard]] std::optional<std::uint64_t> extra_bytes_of(std::string_view header, std::string_view name);

}  // namespace ckptsim::storage::torch
