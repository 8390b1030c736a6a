#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <utility>

#include "storage/target/folder_calls.h"

namespace ckptsim::storage {

inline constexpr const char* kLockFile = ".lock";

// Whether a lock file that holds this text can have been left by this program: nothing yet, or the line of
// who took it.
[[nodiscard]] bool is_lock_text(std::string_view text);

// A process's share in the lock of a marked directory: flock(2) on its lock file, into which the process that
// takes it writes its pid, host and time. Whoever takes it again in the same process shares it, and it goes
// with the last of them, in whatever order they go. The file stays but where `clean` takes away all there is,
// under the lock: who then locks what was removed finds out, and has no lock. Any thread.
class DirectoryLock {
 public:
  DirectoryLock() = default;  // no share
  // UnsuitableTarget when another process holds it, with what that process wrote; when the file system has no
  // locks; when the name is a link or no file. std::system_error ENOENT when the folder or the file went
  // meanwhile: try again from the folder on.
  explicit DirectoryLock(const Folder& folder);
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept : file_(std::exchange(other.file_, std::nullopt)) {}
  DirectoryLock& operator=(DirectoryLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  std::optional<std::pair<dev_t, ino_t>> file_;
};

// A share in the same lock for those that only read: no run begins to write while it is held, and others may
// read beside it. Nothing is written. Any thread.
class ReadLock {
 public:
  // UnsuitableTarget when a run holds the lock. Without a lock file there is nothing to hold, and on a file
  // system without locks or one that this user may not open the file on, nothing is held.
  explicit ReadLock(const Folder& folder);

 private:
  Descriptor descriptor_;
};

}  // namespace ckptsim::storage
