#include "storage/drive/cached_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "storage/descriptor.h"
#include "storage/drive/page_cache.h"
#include "storage/uninterrupted.h"

namespace ckptsim::storage {
namespace {

[[noreturn]] void fail(int error, const char* call, const std::string& path) {
  throw std::system_error(error, std::system_category(), std::string(call) + " " + path);
}

Descriptor open_to_look(const std::string& path) {
  Descriptor file(uninterrupted(
      [&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); }));
  if (!file.valid()) fail(errno, "open", path);
  return file;
}

}  // namespace

void drop_from_page_cache(const std::string& path) {
  constexpr unsigned flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const Descriptor file = open_to_look(path);
  if (sync_file_range(file.get(), 0, 0, flags) != 0) fail(errno, "sync_file_range", path);
  const int error = posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (error != 0) fail(error, "posix_fadvise", path);
}

std::optional<std::uint64_t> cached_bytes(const std::string& path) {
  const Descriptor file = open_to_look(path);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail(errno, "fstat", path);
  const std::optional<std::uint64_t> pages = count_cached_pages(file.get());
  if (!pages) return std::nullopt;
  return std::min(*pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)),
                  static_cast<std::uint64_t>(status.st_size));
}

}  // namespace ckptsim::storage
