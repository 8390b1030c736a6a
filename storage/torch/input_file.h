#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "storage/torch/byte_source.h"

namespace ckptsim::storage::torch {

// A file that is read at any place. Throws std::system_error with the path when the system refuses,
// FormatError for bytes past its end.
class InputFile final : public ByteSource {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile() override;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] std::uint64_t size() const override { return size_; }

 private:
  void do_read(std::uint64_t offset, std::span<std::byte> out) const override;

  int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace ckptsim::storage::torch
