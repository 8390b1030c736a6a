#pragma once

#include <cstdint>

namespace ckptsim::storage {

// Pages of an open file in the page cache: cachestat(2), or mincore(2) where the kernel (before Linux 6.5) or
// a container has none. Throws std::system_error. The file must be open for reading.
[[nodiscard]] std::uint64_t count_cached_pages(int descriptor);

// mincore(2) alone. It tells the truth only to the owner of the file and to those who may write it; to others
// every page looks cached.
[[nodiscard]] std::uint64_t count_cached_pages_by_mincore(int descriptor);

}  // namespace ckptsim::storage
