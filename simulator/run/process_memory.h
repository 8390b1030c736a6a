#pragma once

#include <cstdint>
#include <string>

namespace ckptsim::simulator {

// The most memory that this process has had resident so far.
[[nodiscard]] std::uint64_t max_rss_bytes();

// Memory of this process that lies on huge pages, transparent or reserved; 0 where the kernel does not say.
[[nodiscard]] std::uint64_t huge_page_bytes();

// The same out of the text of /proc/PID/smaps_rollup.
[[nodiscard]] std::uint64_t parse_huge_page_bytes(const std::string& smaps_rollup);

}  // namespace ckptsim::simulator
