#pragma once

namespace ckptsim::simulator {

// "0.1.0", the project's version in CMakeLists.txt.
[[nodiscard]] const char* version();

}  // namespace ckptsim::simulator
