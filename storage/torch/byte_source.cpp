#include "storage/torch/byte_source.h"

#include <fmt/format.h>

#include <cstring>

#include "storage/errors.h"
#include "storage/text/printable.h"

namespace ckptsim::storage::torch {
namespace {

// A problem tells of names, which a file can make as long as it likes.
constexpr std::size_t kLongestProblem = 1000;

}  // namespace

void fail_at(std::string_view file, std::uint64_t offset, const std::string& problem) {
  throw FormatError(
      fmt::format("{}: at {}: {}", file, offset, printable_beginning(problem, kLongestProblem)));
}

void ByteSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  check_range(offset, out.size());
  do_read(offset, out);
}

std::string ByteSource::read_string(std::uint64_t offset, std::uint64_t bytes) const {
  check_range(offset, bytes);
  std::string text(bytes, '\0');
  do_read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

void ByteSource::fail(std::uint64_t offset, const std::string& problem) const {
  fail_at(name_, offset, problem);
}

void ByteSource::check_range(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > size() || bytes > size() - offset) {
    fail(offset, fmt::format("{} bytes are needed, the file ends at {}", bytes, size()));
  }
}

void WindowSource::do_read(std::uint64_t offset, std::span<std::byte> out) const {
  if (out.empty()) return;
  if (offset < begin_ || offset - begin_ > bytes_.size() || out.size() > bytes_.size() - (offset - begin_)) {
    fail(offset, fmt::format("{} bytes are needed, and only those from {} to {} belong to this part of the "
                             "archive",
                             out.size(), begin_, begin_ + bytes_.size()));
  }
  std::memcpy(out.data(), bytes_.data() + (offset - begin_), out.size());
}

}  // namespace ckptsim::storage::torch
