#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "storage/target/directory_lock.h"
#include "storage/target/folder_calls.h"

namespace ckptsim::storage {

// TARGET/ckptsim/: the only folder in which this program ever truncates or deletes. It carries a marker file;
// a lock file, held with flock(2) for the life of this object (the kernel drops it when the process dies, so
// a killed run leaves no stale lock), keeps other processes out. Objects of one process share the lock.
//
// Layout: TARGET/ckptsim/{.ckptsim-directory,.lock}, TARGET/ckptsim/NAME/checkpoint_NN/{FILE,manifest*.json}.
// Symbolic links at any of these levels are refused. All calls throw std::system_error with the path for the
// operating system's errors and UnsuitableTarget for what is not ours. One thread.
class MarkedDirectory {
 public:
  // Makes the folder and marker where there are none (an empty unmarked ckptsim/ is adopted), takes the lock.
  // UnsuitableTarget: target missing, not a directory, not writable, read-only; ckptsim/ a link, or unmarked
  // and not empty; lock held by another process (names its pid and host from the lock file).
  explicit MarkedDirectory(const std::filesystem::path& target);
  ~MarkedDirectory();
  MarkedDirectory(const MarkedDirectory&) = delete;
  MarkedDirectory& operator=(const MarkedDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }  // TARGET/ckptsim
  [[nodiscard]] static std::filesystem::path checkpoint_path(const std::filesystem::path& target,
                                                             std::string_view run, int checkpoint);

  // Bytes allocated to what an earlier run of that name left (what removing it would free). Refuses as
  // remove_run does.
  [[nodiscard]] std::uint64_t run_bytes(std::string_view run) const;
  // The same without a lock, and without making anything where there is no ckptsim/ yet.
  [[nodiscard]] static std::uint64_t run_bytes_under(const std::filesystem::path& target,
                                                     std::string_view run);

  // Removes what an earlier run of that name left: of every checkpoint first its manifests, then a directory
  // fsync, then its files, then the folder. Returns the number of files removed. Refuses, before anything is
  // removed, where a folder holds what this program did not make (UnsuitableTarget names it).
  std::uint64_t remove_run(std::string_view run);

  // Removes one checkpoint in the same order; nothing happens where there is none.
  void remove_checkpoint(std::string_view run, int checkpoint);

  // Makes NAME/checkpoint_NN where it is missing and fsyncs the parents that gained an entry.
  void make_checkpoint_folder(std::string_view run, int checkpoint);

  // Removes the manifests of a checkpoint whose files are about to be rewritten, and fsyncs the folder if
  // there was one.
  void remove_manifests(std::string_view run, int checkpoint);

  // Writes NAME/checkpoint_NN/FILE under a temporary name, fsyncs it, renames it, fsyncs the folder: two
  // fsyncs. FILE is manifest*.json (else std::invalid_argument, since removal would not recognise it).
  void publish_manifest(std::string_view run, int checkpoint, std::string_view file, std::string_view text);

  // Whether a folder is such a ckptsim/ folder: it has the marker. Makes and locks nothing.
  [[nodiscard]] static bool is_marked_folder(const std::filesystem::path& folder);

  // Throws UnsuitableTarget, naming checkpoint.trim, where trim() would fail. Trims at most the first MiB.
  void prove_trim();

  // Returns unused blocks of the file system to the drive (FITRIM). std::system_error where it cannot.
  void trim();

 private:
  std::filesystem::path path_;
  Folder directory_;
  DirectoryLock lock_;
};

}  // namespace ckptsim::storage
