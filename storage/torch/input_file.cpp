#include "storage/torch/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "storage/errors.h"

namespace ckptsim::storage::torch {
namespace {

[[noreturn]] void throw_errno(const char* call, const std::filesystem::path& path) {
  throw std::system_error(errno, std::generic_category(), fmt::format("{} {}", call, path.string()));
}

// Closes the descriptor when the constructor does not get to its end.
std::uint64_t regular_file_size(int descriptor, const std::filesystem::path& path) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
    throw_errno("fstat", path);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw FormatError(fmt::format("{}: not a regular file", path.string()));
  }
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path)
    : ByteSource(path.string()),
      descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // never waits for a FIFO
  if (descriptor_ < 0) {
    throw_errno("open", path);
  }
  size_ = regular_file_size(descriptor_, path);
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

void InputFile::do_read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      throw_errno("read", name());
    }
    if (got == 0) {
      fail(offset, "the file became shorter while it was read");
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

}  // namespace ckptsim::storage::torch
