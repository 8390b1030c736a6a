#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "storage/torch/file_spec.h"

namespace ckptsim::storage::torch {

// One record of a torch.save archive as its central directory and local header have it.
struct ArchiveRecord {
  std::string name;  // without the root folder
  std::uint64_t header_offset = 0;
  std::uint64_t payload_offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;  // as stored in the directory
  bool zip64 = false;
};

// One tensor as the pickle describes it.
struct ArchiveTensor {
  std::string name;           // path of dict keys, joined by '.'
  std::string storage_class;  // "BFloat16Storage"
  std::vector<std::int64_t> shape;
  std::string storage_key;           // record "data/KEY"
  std::uint64_t storage_offset = 0;  // elements
  std::uint64_t storage_elements = 0;
};

// A torch.save file that is read, not trusted: no allocation beyond the file's size, no pickle opcode beyond
// those that tensors in dicts need. All members are bounds-checked against the file; FormatError names file
// and offset.
struct ArchiveContents {
  std::uint64_t file_bytes = 0;
  std::string root;
  std::vector<ArchiveRecord> records;                                                    // in directory order
  std::vector<ArchiveTensor> tensors;                                                    // in pickle order
  std::vector<std::pair<std::string, std::variant<std::int64_t, std::string>>> scalars;  // name, value
};

// Throws std::system_error with the path, or FormatError.
[[nodiscard]] ArchiveContents read_archive(const std::filesystem::path& file);

// The CRC-32 of a record's payload as the file has it now.
[[nodiscard]] std::uint32_t payload_crc32(const std::filesystem::path& file, const ArchiveRecord& record);

}  // namespace ckptsim::storage::torch
