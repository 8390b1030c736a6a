#pragma once

#include <cstdint>
#include <optional>

namespace ckptsim::storage {

// Pages of an open file in the page cache: cachestat(2), or mincore(2) where the kernel (before Linux 6.5) or
// a container has none. Empty where the kernel does not tell this user: both calls answer only to the owner of
// the file, to those who may write it, and to CAP_FOWNER. Throws std::system_error. The file must be open for
// reading.
[[nodiscard]] std::optional<std::uint64_t> count_cached_pages(int descriptor);

// The same by mincore(2) alone.
[[nodiscard]] std::optional<std::uint64_t> count_cached_pages_by_mincore(int descriptor);

}  // namespace ckptsim::storage
