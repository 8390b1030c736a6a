#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "storage/torch/archive_stream.h"
#include "storage/torch/file_spec.h"

namespace ckptsim::storage::torch {

// What the test runner shows of a parameter.
std::ostream& operator<<(std::ostream& out, const ArchiveOptions& options);

// A folder of its own, removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline constexpr std::uint64_t kSeed = 11;
inline constexpr std::uint64_t kPass = 2;
inline constexpr std::uint64_t kCheckpoint = 3;

// All kinds of values, an empty tensor, a scalar tensor and more than ten storages.
[[nodiscard]] FileSpec example_file();

// All that is left of `stream`, read in pieces of `piece_bytes`.
[[nodiscard]] std::string read_all(ArchiveStream& stream, std::size_t piece_bytes = 65536);

[[nodiscard]] std::string archive_of(const FileSpec& file, const ArchiveOptions& options);

void write_file(const std::filesystem::path& path, const std::string& bytes);

}  // namespace ckptsim::storage::torch
