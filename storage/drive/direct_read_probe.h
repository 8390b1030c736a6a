#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ckptsim::storage {

// Whether a file can be read past the page cache.
struct DirectReadFacts {
  std::uint64_t io_alignment = 0;  // of offset, length and memory; 0: it cannot
  std::string reason;              // then, in words
  // Whether the page cache was looked into afterwards. If not, since the kernel shows that of a file only to
  // its owner and to who may write it, the file system's own word is what there is (STATX_DIOALIGN).
  bool cache_seen = true;
};

// Tries it on the first block of an existing regular file, and looks into the page cache afterwards, since
// some file systems accept O_DIRECT and cache all the same. Writes the file's dirty pages back and drops all
// from the cache; changes nothing, follows no link, waits for no FIFO. Throws std::system_error with the path
// where the file cannot be opened or read at all.
[[nodiscard]] DirectReadFacts probe_direct_read(const std::filesystem::path& file);

}  // namespace ckptsim::storage
