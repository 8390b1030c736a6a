#include "archive_helpers.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <span>
#include <stdexcept>

namespace ckptsim::storage::torch {

std::ostream& operator<<(std::ostream& out, const ArchiveOptions& options) {
  return out << (options.dialect == Dialect::kCurrent ? "current" : "1.13") << " aligned to "
             << options.alignment_bytes;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "ckptsim-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("mkdtemp " + name);
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

FileSpec example_file() {
  FileSpec file{"mp_rank_00_model_states.pt",
                {{"embedding.weight", TensorSpec{ScalarType::kBFloat16, {130, 70}}},
                 {"iteration", std::int64_t{1} << 40},
                 {"empty", TensorSpec{ScalarType::kFloat32, {0, 3}}},
                 {"scalar", TensorSpec{ScalarType::kFloat32, {}}},
                 {"note", std::string("saved by a test")}}};
  for (int i = 0; i < 12; ++i) {
    file.entries.push_back({"state." + std::to_string(i), TensorSpec{ScalarType::kUInt8, {1000 * i + 1}}});
  }
  return file;
}

std::string read_all(ArchiveStream& stream, std::size_t piece_bytes) {
  std::string bytes;
  std::vector<std::byte> piece(piece_bytes);
  for (std::size_t got = piece_bytes; got == piece_bytes;) {
    got = stream.read(piece);
    bytes.append(reinterpret_cast<const char*>(piece.data()), got);
  }
  return bytes;
}

std::string archive_of(const FileSpec& file, const ArchiveOptions& options) {
  ArchiveStream stream(file, options, kSeed, kPass, kCheckpoint);
  return read_all(stream);
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::remove(
      path);  // ext4 flushes a file that is truncated and written again: thousands would be slow
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

}  // namespace ckptsim::storage::torch
