#pragma once

#include <filesystem>
#include <stdexcept>
#include <vector>

#include "storage/libtorch/module_interface.h"

namespace ckptsim::storage::libtorch {

// The release whose files the module writes, "1.13". A module of another LibTorch is refused.
inline constexpr const char* kTorchRelease = "1.13";

// what() is one sentence: where the module was looked for, what is wrong, and what to do.
class ModuleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Names another place for the module than beside the program.
inline constexpr const char* kModuleVariable = "CKPTSIM_LIBTORCH_MODULE";

// Where the module is looked for: `named` alone where it is not empty (what the environment says), otherwise
// beside the program (a build) and in the library folder that belongs to its folder (an installation).
[[nodiscard]] std::vector<std::filesystem::path> module_places(const std::filesystem::path& program,
                                                               const std::filesystem::path& named);

// Loads the first of `places` that exists, and with it LibTorch, for the rest of the process's life: about
// half a second and 150 MB. Throws ModuleError.
[[nodiscard]] const Module& load_module(const std::vector<std::filesystem::path>& places);

// The module of this program. To be called before threads start: it reads the environment.
[[nodiscard]] const Module& load_module();

}  // namespace ckptsim::storage::libtorch
