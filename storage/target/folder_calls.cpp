#include "storage/target/folder_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

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
  folder.descriptor =
      Descriptor(uninterrupted([&] { return openat(parent.descriptor.get(), name.c_str(), kFolderFlags); }));
  if (folder.exists() || errno == ENOENT) return folder;
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
  const bool made = mkdirat(parent.descriptor.get(), name.c_str(), kFolderMode) == 0;
  if (!made && errno != EEXIST) throw_last_error("make folder", parent.path / name);
  if (made) sync_folder(parent);
  return existing(open_folder(parent, name));
}

std::vector<Entry> entries_of(const Folder& folder) {
  const auto stream = stream_of(folder);
  std::vector<Entry> entries;
  for (;;) {
    errno = 0;
    const dirent* const next =
        readdir(stream.get());  // NOLINT(concurrency-mt-unsafe): the stream is ours alone
    if (next == nullptr) break;
    if (is_dots(next->d_name)) continue;
    Entry entry{next->d_name, {}};
    if (fstatat(folder.descriptor.get(), next->d_name, &entry.facts, AT_SYMLINK_NOFOLLOW) != 0) {
      throw_last_error("stat", folder.path / entry.name);
    }
    entries.push_back(std::move(entry));
  }
  if (errno != 0) throw_last_error("list", folder.path);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

void sync_folder(const Folder& folder) {
  if (fsync(folder.descriptor.get()) != 0) throw_last_error("sync", folder.path);
}

void remove_file(const Folder& folder, const std::string& name) {
  if (unlinkat(folder.descriptor.get(), name.c_str(), 0) != 0) throw_last_error("remove", folder.path / name);
}

void remove_folder(const Folder& parent, const std::string& name) {
  if (unlinkat(parent.descriptor.get(), name.c_str(), AT_REMOVEDIR) != 0) {
    throw_last_error("remove", parent.path / name);
  }
}

void write_synced(const Folder& folder, const std::string& name, std::string_view text) {
  const std::filesystem::path path = folder.path / name;
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  Descriptor file(
      uninterrupted([&] { return openat(folder.descriptor.get(), name.c_str(), flags, kFileMode); }));
  if (!file.valid()) throw_last_error("create", path);
  write_all(file.get(), text, path);
  if (fsync(file.get()) != 0) throw_last_error("sync", path);
  if (::close(file.release()) != 0) throw_last_error("close", path);
}

void publish(const Folder& folder, const std::string& temporary, const std::string& name,
             std::string_view text) {
  const int parent = folder.descriptor.get();
  try {
    write_synced(folder, temporary, text);
    if (renameat(parent, temporary.c_str(), parent, name.c_str()) != 0)
      throw_last_error("rename to", folder.path / name);
  } catch (...) {
    unlinkat(parent, temporary.c_str(), 0);  // the first error is the one to report
    throw;
  }
  sync_folder(folder);
}

std::string read_small_file(int descriptor, const std::filesystem::path& path) {
  std::string text(kSmallFileBytes, '\0');
  const ssize_t count = uninterrupted([&] { return pread(descriptor, text.data(), text.size(), 0); });
  if (count < 0) throw_last_error("read", path);
  text.resize(static_cast<std::size_t>(count));
  return text;
}

}  // namespace ckptsim::storage
