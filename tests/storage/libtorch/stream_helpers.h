#pragma once

#include <string>
#include <vector>

#include "storage/libtorch/libtorch_stream.h"
#include "tests/storage/torch/archive_helpers.h"

namespace ckptsim::storage::libtorch {

inline constexpr torch::ArchiveOptions kTorch113{torch::Dialect::kTorch113, 64};

// A file whose largest tensor is made in several steps, beside the example's kinds of entries.
inline torch::FileSpec long_file() {
  torch::FileSpec file = torch::example_file();
  file.entries.push_back({"long", torch::TensorSpec{torch::ScalarType::kFloat32, {300, 1001}}});
  return file;
}

// Memory as a caller gives it, never clean.
inline std::vector<std::byte> memory_for(const torch::FileSpec& file) {
  return std::vector<std::byte>(largest_tensor_bytes(file), std::byte{0xee});
}

struct Read {
  std::string bytes;
  torch::FileDigest digest;
};

// The whole file in pieces of at most `piece_bytes`.
inline Read read_all(const Module& module, const torch::FileSpec& file, std::size_t piece_bytes = 65536) {
  std::vector<std::byte> memory = memory_for(file);
  LibtorchStream stream(module, file, torch::kSeed, torch::kPass, torch::kCheckpoint, memory);
  Read read;
  std::vector<std::byte> piece(piece_bytes);
  while (!stream.finished()) {
    const std::size_t got = stream.read(piece);
    read.bytes.append(reinterpret_cast<const char*>(piece.data()), got);
  }
  read.digest = stream.digest();
  return read;
}

// The same from this program's own writer.
inline Read read_reference(const torch::FileSpec& file) {
  torch::ArchiveStream stream(file, kTorch113, torch::kSeed, torch::kPass, torch::kCheckpoint);
  std::string bytes = torch::read_all(stream);
  return {std::move(bytes), stream.digest()};
}

inline bool operator==(const Read& left, const Read& right) {
  const auto same = [](const torch::RecordDigest& a, const torch::RecordDigest& b) {
    return a.name == b.name && a.payload_offset == b.payload_offset && a.bytes == b.bytes &&
           a.crc32 == b.crc32;
  };
  return left.bytes == right.bytes && left.digest.crc32 == right.digest.crc32 &&
         left.digest.file_bytes == right.digest.file_bytes &&
         std::equal(left.digest.records.begin(), left.digest.records.end(), right.digest.records.begin(),
                    right.digest.records.end(), same);
}

}  // namespace ckptsim::storage::libtorch
