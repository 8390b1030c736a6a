#pragma once

#include <string>
#include <vector>

namespace ckptsim::simulator {

// Several texts, of any bytes, as one message, and back. unpack() throws std::invalid_argument for what
// pack() did not make.
[[nodiscard]] std::string pack(const std::vector<std::string>& parts);
[[nodiscard]] std::vector<std::string> unpack(const std::string& message);

}  // namespace ckptsim::simulator
