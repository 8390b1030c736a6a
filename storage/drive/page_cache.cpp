#include "storage/drive/page_cache.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

namespace ckptsim::storage {
namespace {

// linux/mman.h and asm/unistd.h have these since Linux 6.5 only; the number is the same on every
// architecture.
constexpr long kCachestatCall = 451;
struct CachestatRange {
  std::uint64_t offset;
  std::uint64_t length;  // 0: to the end of the file
};
struct Cachestat {
  std::uint64_t cached;
  std::uint64_t dirty;
  std::uint64_t under_writeback;
  std::uint64_t evicted;
  std::uint64_t recently_evicted;
};

// A multiple of every page size. A window at a time, so that a file of terabytes needs little memory.
constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 30;

[[noreturn]] void throw_last_error(const char* call) {
  throw std::system_error(errno, std::system_category(), call);
}

std::uint64_t count_in_window(int descriptor, std::uint64_t offset, std::uint64_t length) {
  void* const mapping = mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(offset));
  if (mapping == MAP_FAILED) throw_last_error("mmap");
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> residency((length + page_bytes - 1) / page_bytes);
  const int result = mincore(mapping, length, residency.data());
  const int error = errno;
  munmap(mapping, length);
  if (result != 0) throw std::system_error(error, std::system_category(), "mincore");
  const auto cached =
      std::count_if(residency.begin(), residency.end(), [](unsigned char page) { return (page & 1U) != 0; });
  return static_cast<std::uint64_t>(cached);
}

// Whether mincore(2) tells this user about this file. Since Linux 5.2 it calls every page of a file resident
// to who neither owns nor may write it: a page that lies wholly behind the file's end as well, where there is
// none. The place is a multiple of the largest page, so that no page of the file reaches there.
bool mincore_is_open_to_us(int descriptor, std::uint64_t size) {
  const std::uint64_t behind_end = (size / kWindowBytes + 1) * kWindowBytes;
  return count_in_window(descriptor, behind_end, 1) == 0;
}

}  // namespace

std::optional<std::uint64_t> count_cached_pages(int descriptor) {
  CachestatRange whole_file{0, 0};
  Cachestat counts{};
  if (syscall(kCachestatCall, descriptor, &whole_file, &counts, 0U) == 0) return counts.cached;
  // EPERM: a container's system call filter that is older than the call, or a file that is not this user's.
  if (errno == ENOSYS || errno == EPERM) return count_cached_pages_by_mincore(descriptor);
  throw_last_error("cachestat");
}

std::optional<std::uint64_t> count_cached_pages_by_mincore(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) throw_last_error("fstat");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > 0 && !mincore_is_open_to_us(descriptor, size)) return std::nullopt;
  std::uint64_t cached = 0;
  for (std::uint64_t offset = 0; offset < size; offset += kWindowBytes) {
    cached += count_in_window(descriptor, offset, std::min(kWindowBytes, size - offset));
  }
  return cached;
}

}  // namespace ckptsim::storage
