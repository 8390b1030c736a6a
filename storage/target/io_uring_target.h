#pragma once

#include <memory>

#include "storage/target/make_target.h"

namespace ckptsim::storage {

// Backend `io_uring`: asynchronous O_DIRECT reads and writes; all other requests are plain system calls
// inside submit(). Throws UnsuitableTarget as make_target does. submit() and the reaping calls throw
// std::system_error when the ring itself fails, which leaves the target fit for destruction only.
[[nodiscard]] std::unique_ptr<Target> make_io_uring_target(const TargetOptions& options, const Clock& clock);

}  // namespace ckptsim::storage
