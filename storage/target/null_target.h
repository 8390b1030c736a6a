#pragma once

#include <memory>

#include "storage/target/make_target.h"

namespace ckptsim::storage {

// Backend `null`: bytes are dropped, nothing is opened, every request is finished when submit() returns. What
// is left is the time that this program itself needs.
[[nodiscard]] std::unique_ptr<Target> make_null_target(const TargetOptions& options, const Clock& clock);

}  // namespace ckptsim::storage
