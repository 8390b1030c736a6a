#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "storage/descriptor.h"

namespace ckptsim::storage {

// An open folder and the path that messages name it by. Work below it goes through the descriptor, so that
// nothing that is renamed or linked meanwhile can lead it astray.
struct Folder {
  Descriptor descriptor;
  std::filesystem::path path;

  [[nodiscard]] bool exists() const noexcept { return descriptor.valid(); }
};

// All throw std::system_error with the path where the system refuses.

// The folder `name` below `parent`; one that does not exist() when nothing has that name. UnsuitableTarget
// when the name is a link, no folder, or where another file system (or another folder) is mounted.
[[nodiscard]] Folder open_folder(const Folder& parent, const std::string& name);

// The folder itself, or std::system_error (ENOENT) when it does not exist.
[[nodiscard]] Folder existing(Folder folder);

// Makes the folder where it is missing, and then fsyncs the parent.
[[nodiscard]] Folder make_folder(const Folder& parent, const std::string& name);

struct Entry {
  std::string name;
  struct stat facts {};      // of the entry itself, not of what a link leads to
  bool mount_point = false;  // something is mounted there; where the kernel says so (Linux 5.8)
};

// How much is asked of the file system for each entry.
enum class Facts {
  kAll,
  kKinds,  // facts.st_mode's file type alone, which the folder itself says on most file systems
};

// All entries but . and .., by name. Whoever removes meanwhile is no error: what is gone is left out.
[[nodiscard]] std::vector<Entry> entries_of(const Folder& folder, Facts facts = Facts::kAll);

void sync_folder(const Folder& folder);
void remove_file(const Folder& folder, const std::string& name);
void remove_folder(const Folder& parent, const std::string& name);

// A new file of that name with that text, synced. An older file of that name is unlinked, never written to
// (it may have another name elsewhere); anything else of that name is UnsuitableTarget. The folder is not
// synced.
void write_synced(const Folder& folder, const std::string& name, std::string_view text);

// write_synced under `temporary`, then renamed to `name`, and the folder synced: there is never half a file
// of that name, and no temporary remains after a failure.
void publish(const Folder& folder, const std::string& temporary, const std::string& name,
             std::string_view text);

// The text of a file of at most 4096 bytes.
[[nodiscard]] std::string read_small_file(int descriptor, const std::filesystem::path& path);

// Whether it is a regular file that has this name alone: what may be written to without changing a file
// elsewhere.
[[nodiscard]] bool is_own_file(const struct stat& facts);

// The system's last error as an exception that names the path.
[[noreturn]] void throw_last_error(const std::string& action, const std::filesystem::path& path);

}  // namespace ckptsim::storage
