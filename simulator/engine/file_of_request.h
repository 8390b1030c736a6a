#pragma once

#include <fcntl.h>

#include <string>

#include "storage/target/target.h"

namespace ckptsim::simulator {

// Has the request open `path`: by its last component from `folder`, which is open and is where it lies, or as
// it stands where there is no such folder (AT_FDCWD).
inline void name_file(storage::Request& request, int folder, const std::string& path) {
  request.folder = folder;
  request.path = folder == AT_FDCWD ? path : path.substr(path.rfind('/') + 1);
}

}  // namespace ckptsim::simulator
