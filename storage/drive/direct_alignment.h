#pragma once

#include <cstdint>
#include <optional>
#include <system_error>

namespace ckptsim::storage {

// Never less, even where a drive takes 512: a block of the file system and a page are 4096 nearly everywhere.
inline constexpr std::uint64_t kLeastDirectAlignment = 4096;

// The multiple that the file system asks of direct I/O on an open file, from statx(2); 0 where it says that
// it would cache; empty where it does not say (before Linux 6.1, in a container's filter). Throws
// std::system_error.
[[nodiscard]] std::optional<std::uint64_t> reported_direct_alignment(int descriptor);

}  // namespace ckptsim::storage
