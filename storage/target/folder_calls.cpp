#include "storage/target/folder_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "storage/call_listener.h"
#include "storage/errors.h"
#include "storage/uninterrupted.h"

namespace ckptsim::storage {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kFolderMode = 0755;
constexpr mode_t kFileMode = 0644;
constexpr std::size_t kSmallFileBytes = 4096;

struct CloseStream {
  void operator()(DIR* stream) const noexcept { closedir(stream); }
};

std::unique_ptr<DIR, CloseStream> stream_of(const Folder& folder) {
  CallListener::tell("listing", folder.path);
  // A descriptor of its own: the stream takes it over, and its position with it.
  Descriptor again(uninterrupted([&] { return openat(folder.descriptor.get(), ".", kFolderFlags); }));
  if (!again.valid()) throw_last_error("open", folder.path);
  std::unique_ptr<DIR, CloseStream> stream(fdopendir(again.get()));
  if (stream == nullptr) throw_last_error("list", folder.path);
  (void)again.release();
  return stream;
}

bool is_dots(std::string_view name) {
  return name == "." || name == "..";
}

// Whether something is mounted at `name` below the folder, bind mounts of the same file system too; empty
// where this kernel does not say.
std::optional<bool> mounted_at(int folder, const char* name) {
  struct statx facts {};
  constexpr int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  if (statx(folder, name, flags, STATX_TYPE, &facts) != 0) return std::nullopt;
  if ((facts.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) return std::nullopt;
  return (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// An older kernel gives away at least that a folder is another file system's.
bool is_other_device(int parent, int folder) {
  struct stat above {};
  struct stat below {};
  return fstat(parent, &above) == 0 && fstat(folder, &below) == 0 && above.st_dev != below.st_dev;
}

// False: the entry is gone.
bool examine(const Folder& folder, const dirent& found, Facts facts, Entry& entry) {
  if (facts == Facts::kKinds && found.d_type != DT_UNKNOWN) {
    entry.facts.st_mode = DTTOIF(found.d_type);
    return true;
  }
  CallListener::tell("looking at", folder.path / entry.name);
  const int parent = folder.descriptor.get();
  if (fstatat(parent, found.d_name, &entry.facts, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    throw_last_error("stat", folder.path / entry.name);
  }
  entry.mount_point = facts == Facts::kAll && mounted_at(parent, found.d_name).value_or(false);
  return true;
}

[[noreturn]] void refuse_in_place_of_file(const std::filesystem::path& path) {
  throw UnsuitableTarget(
      fmt::format("{} is no file, where this program keeps one of its own; remove it or use another target",
                  path.string()));
}

// Empty where nothing has that name.
std::optional<mode_t> mode_of(const Folder& folder, const std::string& name) {
  CallListener::tell("looking at", folder.path / name);
  struct stat facts {};
  if (fstatat(folder.descriptor.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0) return facts.st_mode;
  if (errno == ENOENT) return std::nullopt;
  throw_last_error("stat", folder.path / name);
}

void remove_older(const Folder& folder, const std::string& name) {
  const std::optional<mode_t> mode = mode_of(folder, name);
  if (!mode.has_value()) return;
  if (!S_ISREG(*mode)) refuse_in_place_of_file(folder.path / name);
  remove_file(folder, name);
}

void write_all(int descriptor, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t count = uninterrupted([&] { return write(descriptor, text.data(), text.size()); });
    if (count < 0) throw_last_error("write", path);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

void throw_last_error(const std::string& action, const std::filesystem::path& path) {
  const int error = errno;
  throw std::system_error(error, std::system_category(), fmt::format("{} {}", action, path.string()));
}

Folder open_folder(const Folder& parent, const std::string& name) {
  Folder folder{Descriptor(), parent.path / name};
  CallListener::tell("opening", folder.path);
  const int above = parent.descriptor.get();
  folder.descriptor = Descriptor(uninterrupted([&] { return openat(above, name.c_str(), kFolderFlags); }));
  if (folder.exists()) {
    if (mounted_at(above, name.c_str()).value_or(is_other_device(above, folder.descriptor.get()))) {
      throw UnsuitableTarget(
          fmt::format("{} is a mount point where this program keeps a folder of its own; unmount it, or use "
                      "what is mounted there as a target of its own",
                      folder.path.string()));
    }
    return folder;
  }
  if (errno == ENOENT) return folder;
  if (errno == ELOOP || errno == ENOTDIR) {
    throw UnsuitableTarget(
        fmt::format("{} is a link or a file where this program keeps a folder of its own; remove it or use "
                    "another target",
                    folder.path.string()));
  }
  throw_last_error("open", folder.path);
}

Folder existing(Folder folder) {
  if (folder.exists()) return folder;
  throw std::system_error(ENOENT, std::system_category(), fmt::format("open {}", folder.path.string()));
}

Folder make_folder(const Folder& parent, const std::string& name) {
  CallListener::tell("making", parent.path / name);
  const bool made = mkdirat(parent.descriptor.get(), name.c_str(), kFolderMode) == 0;
  if (!made && errno != EEXIST) throw_last_error("make folder", parent.path / name);
  if (made) sync_folder(parent);
  return existing(open_folder(parent, name));
}

std::vector<Entry> entries_of(const Folder& folder, Facts facts) {
  const auto stream = stream_of(folder);
  std::vector<Entry> entries;
  for (;;) {
    errno = 0;
    const dirent* const next =
        readdir(stream.get());  // NOLINT(concurrency-mt-unsafe): the stream is ours alone
    if (next == nullptr) break;
    if (is_dots(next->d_name)) continue;
    Entry entry{.name = next->d_name};
    if (examine(folder, *next, facts, entry)) entries.push_back(std::move(entry));
  }
  if (errno != 0) throw_last_error("list", folder.path);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

void sync_folder(const Folder& folder) {
  CallListener::tell("in fsync of", folder.path);
  if (fsync(folder.descriptor.get()) != 0) throw_last_error("sync", folder.path);
}

void remove_file(const Folder& folder, const std::string& name) {
  CallListener::tell("removing", folder.path / name);
  if (unlinkat(folder.descriptor.get(), name.c_str(), 0) != 0) throw_last_error("remove", folder.path / name);
}

void remove_folder(const Folder& parent, const std::string& name) {
  CallListener::tell("removing", parent.path / name);
  if (unlinkat(parent.descriptor.get(), name.c_str(), AT_REMOVEDIR) != 0) {
    throw_last_error("remove", parent.path / name);
  }
}

void write_synced(const Folder& folder, const std::string& name, std::string_view text) {
  const std::filesystem::path path = folder.path / name;
  remove_older(folder, name);
  CallListener::tell("creating", path);
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Descriptor file(
      uninterrupted([&] { return openat(folder.descriptor.get(), name.c_str(), flags, kFileMode); }));
  if (!file.valid()) throw_last_error("create", path);
  CallListener::tell("writing", path);
  write_all(file.get(), text, path);
  CallListener::tell("in fsync of", path);
  if (fsync(file.get()) != 0) throw_last_error("sync", path);
  CallListener::tell("closing", path);
  if (::close(file.release()) != 0) throw_last_error("close", path);
}

void publish(const Folder& folder, const std::string& temporary, const std::string& name,
             std::string_view text) {
  const int parent = folder.descriptor.get();
  // Renaming would replace a link or a pipe without a word; a folder it refuses.
  const mode_t older = mode_of(folder, name).value_or(S_IFREG);
  if (!S_ISREG(older) && !S_ISDIR(older)) refuse_in_place_of_file(folder.path / name);
  remove_older(folder, temporary);
  try {
    write_synced(folder, temporary, text);
    CallListener::tell("renaming to", folder.path / name);
    if (renameat(parent, temporary.c_str(), parent, name.c_str()) != 0)
      throw_last_error("rename to", folder.path / name);
  } catch (...) {
    unlinkat(parent, temporary.c_str(), 0);  // the first error is the one to report
    throw;
  }
  sync_folder(folder);
}

bool is_own_file(const struct stat& facts) {
  return S_ISREG(facts.st_mode) && facts.st_nlink == 1;
}

std::string read_small_file(int descriptor, const std::filesystem::path& path) {
  std::string text(kSmallFileBytes, '\0');
  CallListener::tell("reading", path);
  const ssize_t count = uninterrupted([&] { return pread(descriptor, text.data(), text.size(), 0); });
  if (count < 0) throw_last_error("read", path);
  text.resize(static_cast<std::size_t>(count));
  return text;
}

}  // namespace ckptsim::storage
