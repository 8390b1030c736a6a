#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ckptsim::simulator {

// The most memory that this process has had resident so far; 0 where the kernel does not say.
[[nodiscard]] std::uint64_t max_rss_bytes();

// Memory of this process, in whole mappings of its own.
using MemoryAreas = std::vector<std::span<const std::byte>>;

// How much of the areas lies on huge pages, transparent or reserved; 0 where the kernel does not say.
[[nodiscard]] std::uint64_t huge_page_bytes(const MemoryAreas& areas);

// The same out of the text of /proc/PID/smaps: the kernel counts by mapping, and every mapping that an area
// is in counts.
[[nodiscard]] std::uint64_t parse_huge_page_bytes(const std::string& smaps, const MemoryAreas& areas);

}  // namespace ckptsim::simulator
