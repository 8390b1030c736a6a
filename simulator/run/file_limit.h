#pragma once

#include <cstdint>

namespace ckptsim::simulator {

// Raises this process's limit on open files to `needed` where it is lower. Throws storage::UnsuitableTarget
// naming the hard limit where that does not allow it.
void allow_open_files(std::uint64_t needed);

}  // namespace ckptsim::simulator
