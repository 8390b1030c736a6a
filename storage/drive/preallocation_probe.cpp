#include "storage/drive/preallocation_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "storage/descriptor.h"
#include "storage/errors.h"
#include "storage/uninterrupted.h"

namespace ckptsim::storage {

void prove_preallocation(const std::filesystem::path& folder) {
  std::string name = (folder / ".ckptsim-probe-XXXXXX").string();
  const Descriptor probe(mkostemp(name.data(), O_CLOEXEC));
  if (!probe.valid()) {
    throw std::system_error(errno, std::system_category(),
                            fmt::format("cannot make a probe file in {}", folder.string()));
  }
  if (unlink(name.c_str()) != 0) throw std::system_error(errno, std::system_category(), name);
  if (uninterrupted([&] { return fallocate(probe.get(), 0, 0, 4096); }) == 0) return;
  throw UnsuitableTarget(
      fmt::format("files in {} cannot be preallocated: {}; set storage.preallocate to false", folder.string(),
                  std::system_category().message(errno)));
}

}  // namespace ckptsim::storage
