#pragma once

#include <filesystem>

namespace ckptsim::storage {

// Throws UnsuitableTarget, naming storage.preallocate, where files in `folder` cannot be preallocated with
// fallocate(2). The probe has no name in the folder and is gone when this returns.
void prove_preallocation(const std::filesystem::path& folder);

}  // namespace ckptsim::storage
