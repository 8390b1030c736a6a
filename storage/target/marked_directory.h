#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "storage/target/checkpoint_removal.h"
#include "storage/target/directory_lock.h"
#include "storage/target/folder_calls.h"

namespace ckptsim::storage {

// TARGET/ckptsim/: the only folder in which this program ever truncates or deletes. It carries a marker file;
// a lock file, held with flock(2) for the life of this object (the kernel drops it when the process dies, so
// a killed run leaves no stale lock), keeps other processes out. Objects of one process share the lock.
//
// Layout: TARGET/ckptsim/{.ckptsim-directory,.lock}, TARGET/ckptsim/NAME/checkpoint_NN/{FILE,manifest.json}.
// Symbolic links and mount points at any of these levels are refused. Who owns a file is not asked: names and
// kinds decide what is ours, and the system who may remove it (on NFS the owner is often nobody). All calls
// throw std::system_error with the path for the operating system's errors and UnsuitableTarget for what is
// not ours. One thread.
class MarkedDirectory {
 public:
  // Makes the folder and marker where there are none (an empty unmarked ckptsim/ is adopted), takes the lock.
  // UnsuitableTarget: target missing, not a directory, not writable, read-only, full; ckptsim/ a link or a
  // mount point, or unmarked and not empty; lock held by another process (names its pid and host from the
  // lock file).
  explicit MarkedDirectory(const std::filesystem::path& target);
  ~MarkedDirectory();
  MarkedDirectory(const MarkedDirectory&) = delete;
  MarkedDirectory& operator=(const MarkedDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }  // TARGET/ckptsim
  [[nodiscard]] static std::filesystem::path checkpoint_path(const std::filesystem::path& target,
                                                             std::string_view run, int checkpoint);

  // The checkpoint's folder, opened level by level from the target on, so that a link that takes the place of
  // one is refused; what is opened relative to it stays in it. std::system_error ENOENT where there is none.
  // Locks nothing: for ranks whose leader holds the lock.
  [[nodiscard]] static Folder open_checkpoint(const std::filesystem::path& target, std::string_view run,
                                              int checkpoint);

  // What an earlier run of that name left, by the files' own facts. Refuses as remove_run does.
  [[nodiscard]] Contents run_contents(std::string_view run) const;
  // The same without a lock, and without making anything where there is no ckptsim/ yet; first by names and
  // kinds all that ckptsim/ holds. UnsuitableTarget names what this program did not make, at any level.
  [[nodiscard]] static Contents survey(const std::filesystem::path& target, std::string_view run);

  // Removes the probe files that a kill left. Returns their number.
  std::uint64_t remove_strays();

  // Removes what an earlier run of that name left: of every checkpoint first its manifests, then a directory
  // fsync, then its files, then the folder. Returns the number of files removed. Refuses, before anything is
  // removed, where a folder holds what this program did not make (UnsuitableTarget names it). `before_file`
  // may throw to leave the rest for another time.
  std::uint64_t remove_run(std::string_view run, const BeforeFile& before_file = {});

  // Removes one checkpoint in the same order; nothing happens where there is none.
  void remove_checkpoint(std::string_view run, int checkpoint, const BeforeFile& before_file = {});

  // Makes NAME/checkpoint_NN where it is missing and fsyncs the parents that gained an entry.
  void make_checkpoint_folder(std::string_view run, int checkpoint);

  // Removes the manifests of a checkpoint whose files are about to be rewritten, and fsyncs the folder if
  // there was one. Refuses, before that, where the checkpoint holds what this program did not make, a file
  // that has another name elsewhere, or a mount point.
  void remove_manifests(std::string_view run, int checkpoint);

  // Writes NAME/checkpoint_NN/FILE under a temporary name, fsyncs it, renames it, fsyncs the folder: two
  // fsyncs. FILE is manifest.json or manifest-HOST.json (else std::invalid_argument, since removal would not
  // recognise it).
  void publish_manifest(std::string_view run, int checkpoint, std::string_view file, std::string_view text);

  // Whether a folder is such a ckptsim/ folder: it has the marker. Makes and locks nothing.
  [[nodiscard]] static bool is_marked_folder(const std::filesystem::path& folder);
  // The marked folder that a path is in, or is itself; empty where there is none. Of the path as much as
  // exists may lead over links.
  [[nodiscard]] static std::filesystem::path marked_folder_around(const std::filesystem::path& path);

  // Throws UnsuitableTarget, naming checkpoint.trim, where trim() would fail. Trims at most the first MiB.
  void prove_trim();

  // Returns unused blocks of the file system to the drive (FITRIM). std::system_error where it cannot.
  void trim();

 private:
  void take_possession(const Folder& target);

  std::filesystem::path path_;
  Folder directory_;
  DirectoryLock lock_;
};

}  // namespace ckptsim::storage
