#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "storage/content/content.h"
#include "storage/torch/file_spec.h"
#include "storage/torch/zip_format.h"

namespace ckptsim::storage::torch {

struct TensorPayload {
  std::uint64_t tensor = 0;  // its number, in order of first use in the pickle
  ContentTensor content;
};
// A digest of the records before it, known when they have been written.
struct SerializationIdPayload {};

struct RecordLayout {
  std::string name;  // without the root folder
  ZipEntry entry;    // its CRC is not known yet
  std::uint64_t payload_offset = 0;
  std::variant<std::string, TensorPayload, SerializationIdPayload> payload;
};

// Where everything in an archive is: a pure function of the file's description.
struct ArchiveLayout {
  std::string root;
  std::vector<RecordLayout> records;  // in file order
  ZipDirectory directory;
  std::uint64_t file_bytes = 0;
};

inline constexpr std::uint64_t kSerializationIdBytes = 40;

// Throws std::invalid_argument for a file that write_pickle() refuses, a name with a folder or without a
// stem, or an alignment that is not a power of two from 64 to 32768 (the padding's length has 16 bits).
[[nodiscard]] ArchiveLayout lay_out_archive(const FileSpec& file, const ArchiveOptions& options);

}  // namespace ckptsim::storage::torch
