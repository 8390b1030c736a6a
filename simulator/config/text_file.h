#pragma once

#include <cstddef>
#include <string>

namespace ckptsim::simulator {

// The whole file. Throws ConfigError, with the path and the system's words, where it cannot be read, and
// where it holds more than `most_bytes` (which also ends the reading of an endless device).
[[nodiscard]] std::string read_text_file(const std::string& path, std::size_t most_bytes);

}  // namespace ckptsim::simulator
