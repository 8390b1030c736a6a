#include "storage/drive/direct_io_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "storage/descriptor.h"
#include "storage/drive/direct_alignment.h"
#include "storage/drive/file_system.h"
#include "storage/drive/page_cache.h"
#include "storage/errors.h"
#include "storage/uninterrupted.h"

namespace ckptsim::storage {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& folder, const std::string& reason) {
  throw UnsuitableTarget(
      fmt::format("{} ({}) has no direct I/O: {}; use another file system, or --backend buffered",
                  folder.string(), file_system_facts(folder).type, reason));
}

// A full file system says nothing of direct I/O: its caller may be able to free space.
[[noreturn]] void refuse_by_system(const std::filesystem::path& folder, const char* action, int error) {
  if (error == ENOSPC || error == EDQUOT) {
    throw std::system_error(
        error, std::system_category(),
        fmt::format("direct I/O cannot be tried in {} for lack of space: {}", folder.string(), action));
  }
  throw UnsuitableTarget(fmt::format("direct I/O cannot be tried in {}: {}: {}", folder.string(), action,
                                     std::system_category().message(error)));
}

// A file with a name of its own that is opened for direct I/O and goes from its folder at once, so that no
// kill leaves it behind.
Descriptor open_probe_file(const std::filesystem::path& folder) {
  std::string name = (folder / ".ckptsim-probe-XXXXXX").string();
  // Made without O_DIRECT first: some file systems refuse the flag only after they made the file.
  const Descriptor made(mkostemp(name.data(), O_CLOEXEC));
  if (!made.valid()) refuse_by_system(folder, "making a probe file", errno);
  Descriptor probe(
      uninterrupted([&] { return open(name.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC | O_NOFOLLOW); }));
  const int error = errno;
  if (unlink(name.c_str()) != 0) refuse_by_system(folder, "removing the probe file", errno);
  if (probe.valid()) return probe;
  if (error == EINVAL || error == EOPNOTSUPP) refuse(folder, "the file system refuses O_DIRECT");
  refuse_by_system(folder, "opening the probe file", error);
}

// The multiple that the file system asks for; empty where it does not say.
std::optional<std::uint64_t> reported_alignment(const std::filesystem::path& folder, int probe) {
  try {
    const auto reported = reported_direct_alignment(probe);
    if (reported == std::uint64_t{0})
      refuse(folder, "the file system accepts O_DIRECT but says that it would cache (statx: alignment 0)");
    return reported;
  } catch (const std::system_error& error) {
    refuse_by_system(folder, "statx of the probe file", error.code().value());
  }
}

void write_probe_block(const std::filesystem::path& folder, int probe, std::uint64_t bytes) {
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  const std::unique_ptr<void, Free> block(std::aligned_alloc(bytes, bytes));
  if (block == nullptr) throw std::bad_alloc();
  std::fill_n(static_cast<std::byte*>(block.get()), bytes, std::byte{0xC5});
  ssize_t count = 0;
  do {
    count = pwrite(probe, block.get(), bytes, 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EINVAL || errno == EOPNOTSUPP)) {
    refuse(folder, fmt::format("a direct write of {} bytes is refused", bytes));
  }
  if (count < 0) refuse_by_system(folder, "writing the probe file", errno);
  if (static_cast<std::uint64_t>(count) != bytes) refuse_by_system(folder, "writing the probe file", ENOSPC);
}

}  // namespace

DirectIoFacts prove_direct_io(const std::filesystem::path& folder) {
  const Descriptor probe = open_probe_file(folder);
  const auto reported = reported_alignment(folder, probe.get());
  const DirectIoFacts facts{std::max(kLeastDirectAlignment, reported.value_or(0)), reported.has_value()};
  write_probe_block(folder, probe.get(), facts.io_alignment);
  const std::optional<std::uint64_t> cached = count_cached_pages(probe.get());
  if (!cached && !facts.statx_reported) {
    refuse(folder,
           "whether it caches all the same cannot be seen: the kernel does not show this user the page cache of "
           "a probe file of its own, and statx does not say");
  }
  if (cached.value_or(0) != 0) {
    refuse(folder, fmt::format("the file system accepts O_DIRECT and caches all the same (pages of a probe "
                               "block in the page cache: {})",
                               *cached));
  }
  return facts;
}

std::uint64_t cached_pages(const std::filesystem::path& file) {
  const Descriptor descriptor(uninterrupted([&] { return open(file.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!descriptor.valid()) throw std::system_error(errno, std::system_category(), file.string());
  try {
    const std::optional<std::uint64_t> cached = count_cached_pages(descriptor.get());
    if (!cached) throw std::system_error(EPERM, std::system_category());
    return *cached;
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), file.string());
  }
}

}  // namespace ckptsim::storage
