#include "storage/drive/direct_read_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <system_error>

#include "storage/descriptor.h"
#include "storage/drive/direct_alignment.h"
#include "storage/drive/page_cache.h"

namespace ckptsim::storage {
namespace {

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

[[noreturn]] void fail(const std::string& action, const std::filesystem::path& file) {
  throw std::system_error(errno, std::system_category(), fmt::format("{} {}", action, file.string()));
}

bool is_refusal(int error) {
  return error == EINVAL || error == EOPNOTSUPP;
}

// Dirty pages are written first, since they cannot be dropped. Where neither can be done, the count
// afterwards says so.
void drop_pages(int descriptor) {
  constexpr unsigned kWriteBack =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  (void)sync_file_range(descriptor, 0, 0, kWriteBack);
  (void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace

DirectReadFacts probe_direct_read(const std::filesystem::path& file) {
  constexpr int kFlags = O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const Descriptor descriptor(open(file.c_str(), kFlags));
  if (!descriptor.valid() && is_refusal(errno)) return {0, "the file system refuses O_DIRECT"};
  if (!descriptor.valid()) fail("open", file);
  const auto reported = reported_direct_alignment(descriptor.get());
  if (reported == std::uint64_t{0}) return {0, "the file system says that it would cache"};
  const std::uint64_t alignment = std::max(kLeastDirectAlignment, reported.value_or(0));
  const std::unique_ptr<void, Free> block(std::aligned_alloc(alignment, alignment));
  if (block == nullptr) throw std::bad_alloc();
  drop_pages(descriptor.get());
  ssize_t count = 0;
  do {
    count = pread(descriptor.get(), block.get(), alignment, 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && is_refusal(errno)) return {0, "the file system refuses direct reads"};
  if (count < 0) fail("read", file);
  const std::optional<std::uint64_t> cached = count_cached_pages(descriptor.get());
  if (!cached && !reported) {
    return {0,
            "whether O_DIRECT goes past the page cache is not known: the kernel shows the page cache of a file "
            "only to its owner and to who may write it, and the file system does not say"};
  }
  if (cached.value_or(0) != 0) return {0, "the file system accepts O_DIRECT and caches all the same"};
  return {.io_alignment = alignment, .reason = "", .cache_seen = cached.has_value()};
}

}  // namespace ckptsim::storage
