#pragma once

#include <stdexcept>

namespace ckptsim::storage {

// A target that cannot be used as asked (exit code 3): missing, read-only, full, in use, without direct I/O.
// what() is one sentence that names the path and what to do.
class UnsuitableTarget : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A file that is not what its format says (a damaged or foreign archive). what() names the file and the
// offset.
class FormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ckptsim::storage
