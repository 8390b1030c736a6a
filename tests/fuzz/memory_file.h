#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

namespace ckptsim::fuzz {

// Bytes under a path of their own, in memory: for readers that open a file.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes) : descriptor_(::memfd_create("input", MFD_CLOEXEC)) {
    const bool made = descriptor_ >= 0 &&
                      ::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    if (!made) throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace ckptsim::fuzz
