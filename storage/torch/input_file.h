#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace ckptsim::storage::torch {

// A file that is read at any place. Throws std::system_error with the path when the system refuses,
// FormatError for bytes past its end.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }

  void read(std::uint64_t offset, std::span<std::byte> out) const;

  // Never allocates more than the file holds.
  [[nodiscard]] std::string read_string(std::uint64_t offset, std::uint64_t bytes) const;

  // "FILE: at OFFSET: PROBLEM"
  [[noreturn]] void fail(std::uint64_t offset, const std::string& problem) const;

 private:
  void check_range(std::uint64_t offset, std::uint64_t bytes) const;

  std::filesystem::path path_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace ckptsim::storage::torch
