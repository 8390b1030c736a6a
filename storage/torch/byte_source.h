#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ckptsim::storage::torch {

// Throws FormatError: "FILE: at OFFSET: PROBLEM".
[[noreturn]] void fail_at(std::string_view file, std::uint64_t offset, const std::string& problem);

// The bytes of one file at any place: the file itself, or a part of it that is in memory. Throws FormatError
// for bytes past the file's end, or that are not at hand.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  [[nodiscard]] virtual std::uint64_t size() const = 0;  // of the whole file

  void read(std::uint64_t offset, std::span<std::byte> out) const;

  // Never allocates more than the file holds.
  [[nodiscard]] std::string read_string(std::uint64_t offset, std::uint64_t bytes) const;

  [[noreturn]] void fail(std::uint64_t offset, const std::string& problem) const;

 protected:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const { return name_; }

  // The range lies inside the file.
  virtual void do_read(std::uint64_t offset, std::span<std::byte> out) const = 0;

 private:
  void check_range(std::uint64_t offset, std::uint64_t bytes) const;

  std::string name_;
};

// The part of a file that begins at `begin`, in memory that outlives the source.
class WindowSource final : public ByteSource {
 public:
  WindowSource(std::string name, std::uint64_t file_bytes, std::uint64_t begin, std::string_view bytes)
      : ByteSource(std::move(name)), file_bytes_(file_bytes), begin_(begin), bytes_(bytes) {}

  [[nodiscard]] std::uint64_t size() const override { return file_bytes_; }

 private:
  void do_read(std::uint64_t offset, std::span<std::byte> out) const override;

  std::uint64_t file_bytes_;
  std::uint64_t begin_;
  std::string_view bytes_;
};

}  // namespace ckptsim::storage::torch
