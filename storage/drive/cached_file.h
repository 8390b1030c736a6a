#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ckptsim::storage {

// Writes what is not yet on the drive (sync_file_range, which is no fsync) and asks the kernel to drop the
// file's pages. It does not promise to: some file systems (tmpfs) have nowhere else to keep them, so that
// cached_bytes() is asked afterwards. Throws std::system_error with the path.
void drop_from_page_cache(const std::string& path);

// How many of a file's bytes are in this host's page cache; empty where the kernel does not tell this user (see
// count_cached_pages()). Throws std::system_error with the path.
[[nodiscard]] std::optional<std::uint64_t> cached_bytes(const std::string& path);

}  // namespace ckptsim::storage
