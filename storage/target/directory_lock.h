#pragma once

#include "storage/target/folder_calls.h"

namespace ckptsim::storage {

inline constexpr const char* kLockFile = ".lock";

// Takes the lock of a marked directory: flock(2) on its lock file, held until the descriptor goes and whoever
// takes it writes its pid, host and time into it. The file stays, since removing it would let two runs each
// lock a file of that name. UnsuitableTarget when another run holds it, with what that run wrote.
[[nodiscard]] Descriptor take_directory_lock(const Folder& folder);

}  // namespace ckptsim::storage
