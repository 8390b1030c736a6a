#pragma once

#include <memory>

#include "storage/target/make_target.h"
#include "storage/target/open_files.h"

namespace ckptsim::storage {

// Backends `direct` and `buffered`: one thread's plain blocking system calls. Every request is finished when
// submit() returns.
[[nodiscard]] std::unique_ptr<Target> make_posix_target(const TargetOptions& options, const Clock& clock,
                                                        Caching caching);

}  // namespace ckptsim::storage
