#pragma once

#include <fcntl.h>

#include <cstdint>
#include <string>

#include "storage/target/buffer.h"

namespace ckptsim::storage {

// What a file is expected to be when it is opened for writing. An older file that is no regular one is EINVAL
// (ELOOP for a link), one that has another name elsewhere is EMLINK: neither is touched.
enum class OpenMode {
  kNew,        // must not exist (O_EXCL): a first pass always meets new files
  kTruncate,   // an older file is cut to nothing by the open itself (O_TRUNC); a missing one is made
  kOverwrite,  // an older file keeps its blocks and is written in place; a missing one is made
};

// One thing that a rank asks of its target. `file` is a number the caller chooses per open file; it names the
// file in later requests and completions until it is closed.
struct Request {
  enum class Kind {
    kOpen,         // path, mode: for writing
    kOpenToRead,   // path: an existing regular file
    kPreallocate,  // length: blocks for [0, length) are allocated and the size is set
    kWrite,  // buffer, offset, length: buffer[0, length) to offset; length is a multiple of io_alignment()
    kRead,   // buffer, offset, length: the file's bytes from offset on into buffer[0, length); both multiples
             // of io_alignment()
    kSetLength,      // length: the file's true length
    kSync,           // fsync; a failed one is never tried again
    kClose,          //
    kSyncDirectory,  // path: fsync of that directory
  };
  Kind kind = Kind::kClose;
  int file = 0;
  // An open folder (kept open by the caller) that `path` starts from; its last component is then all there is
  // to follow, so that nothing that takes the place of a folder above it leads elsewhere. AT_FDCWD: the
  // working directory.
  int folder = AT_FDCWD;
  std::string path;
  OpenMode mode = OpenMode::kNew;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  Buffer buffer;  // kWrite and kRead consume it; their completion gives it back
};

// Reads and writes of a file's bytes: what the queue holds.
[[nodiscard]] constexpr bool is_transfer(Request::Kind kind) {
  return kind == Request::Kind::kWrite || kind == Request::Kind::kRead;
}

}  // namespace ckptsim::storage
