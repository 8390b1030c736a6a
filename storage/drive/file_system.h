#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ckptsim::storage {

// The file system under a path, from statvfs(3) and /proc/self/mountinfo.
struct FileSystemFacts {
  std::string type;                   // "ext4"
  std::string mount_point;            // "/mnt/nvme0"
  std::string mount_options;          // per-mount and superblock options, comma-separated
  std::string source;                 // "/dev/nvme0n1p1"
  std::uint64_t block_bytes = 0;      // f_frsize
  std::uint64_t capacity_bytes = 0;   // f_blocks x f_frsize
  std::uint64_t available_bytes = 0;  // f_bavail x f_frsize
  std::uint64_t available_files =
      0;  // f_favail; the largest number where the file system has no limit (f_files 0)
  bool read_only = false;
};

// Throws std::system_error with the path.
[[nodiscard]] FileSystemFacts file_system_facts(const std::filesystem::path& path);

}  // namespace ckptsim::storage
