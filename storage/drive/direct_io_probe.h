#pragma once

#include <cstdint>
#include <filesystem>

namespace ckptsim::storage {

struct DirectIoFacts {
  std::uint64_t io_alignment =
      0;  // multiple that offset, length and memory of a direct write need; at least 4096
  bool statx_reported = false;  // STATX_DIOALIGN was answered
};

// Proves that direct I/O works in `folder` and is not merely accepted: opens a probe file with O_DIRECT, asks
// STATX_DIOALIGN (present with alignment 0: refused), writes one block and looks for it in the page cache
// (cachestat(2), mincore(2) before Linux 6.5). The probe file is removed. Throws UnsuitableTarget naming the
// folder, its file system and `--backend buffered` when the file system refuses direct I/O or only pretends;
// std::system_error (ENOSPC, EDQUOT) when there is no room to try.
[[nodiscard]] DirectIoFacts prove_direct_io(const std::filesystem::path& folder);

// Pages of the file in the page cache. Throws std::system_error.
[[nodiscard]] std::uint64_t cached_pages(const std::filesystem::path& file);

}  // namespace ckptsim::storage
