#include "storage/libtorch/load_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

namespace ckptsim::storage::libtorch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAdvice = "or use the serializer stream, which writes the same files";

std::string last_error() {
  const char* message = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one for each thread
  return message == nullptr ? "no reason given" : message;
}

[[noreturn]] void refuse_missing(const std::vector<fs::path>& places) {
  if (places.size() == 1) {  // what the environment names
    throw ModuleError(
        fmt::format("{} names {}, which does not exist; name this program's module or unset it, {}",
                    kModuleVariable, places.front().string(), kAdvice));
  }
  std::string looked;
  for (const fs::path& place : places)
    looked += (looked.empty() ? "" : " or ") + place.string();
  throw ModuleError(
      fmt::format("there is no LibTorch in this build: its module is not at {}; install LibTorch {} (Debian: "
                  "libtorch-dev) and build and install again, name the module with {}, {}",
                  looked, kTorchRelease, kModuleVariable, kAdvice));
}

// "1.13.0" is of release "1.13", "1.130.0" is not.
bool is_of_release(std::string_view version) {
  return version.starts_with(std::string(kTorchRelease) + ".");
}

const Module& checked(const Module* module, const fs::path& place) {
  if (module->interface_version != kInterfaceVersion) {
    throw ModuleError(
        fmt::format("{} belongs to another version of this program (interface {}, not {}); build "
                    "and install both together, {}",
                    place.string(), module->interface_version, kInterfaceVersion, kAdvice));
  }
  if (!is_of_release(module->torch_version)) {
    throw ModuleError(
        fmt::format("{} holds LibTorch {}, and the files of {} alone are known here; build the module "
                    "against that release, {}",
                    place.string(), module->torch_version, kTorchRelease, kAdvice));
  }
  return *module;
}

}  // namespace

std::vector<fs::path> module_places(const fs::path& program, const fs::path& named) {
  if (!named.empty()) return {named};
  const fs::path folder = program.parent_path();
  return {folder / CKPTSIM_MODULE_FILE,
          (folder / CKPTSIM_MODULE_FOLDER / CKPTSIM_MODULE_FILE).lexically_normal()};
}

const Module& load_module(const std::vector<fs::path>& places) {
  const auto found = std::find_if(places.begin(), places.end(), [](const fs::path& place) {
    std::error_code ignored;  // what cannot be looked at is not there
    return fs::exists(place, ignored);
  });
  if (found == places.end()) refuse_missing(places);
  // A path with a slash is not looked for elsewhere.
  void* handle = dlopen(fs::absolute(*found).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw ModuleError(fmt::format(
        "LibTorch cannot be loaded: {}; install LibTorch {} (Debian: libtorch1.13), or let {} name this "
        "program's module, {}",
        last_error(), kTorchRelease, kModuleVariable, kAdvice));
  }
  auto* const function = reinterpret_cast<ModuleFunction*>(dlsym(handle, kModuleFunction));
  if (function == nullptr) {
    throw ModuleError(fmt::format("{} is not this program's module: {}; name another with {}, {}",
                                  found->string(), last_error(), kModuleVariable, kAdvice));
  }
  return checked(function(), *found);
}

const Module& load_module() {
  const char* named =
      std::getenv(kModuleVariable);  // NOLINT(concurrency-mt-unsafe): before any thread starts
  return load_module(module_places(fs::read_symlink("/proc/self/exe"), named == nullptr ? "" : named));
}

}  // namespace ckptsim::storage::libtorch
