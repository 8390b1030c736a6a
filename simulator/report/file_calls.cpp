#include "simulator/report/file_calls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "storage/descriptor.h"
#include "storage/uninterrupted.h"

namespace ckptsim::simulator {

namespace fs = std::filesystem;

void fail_call(const std::string& what, const fs::path& path) {
  throw std::system_error(errno, std::generic_category(), fmt::format("cannot {} {}", what, path.string()));
}

void write_all(int file, std::string_view text, const fs::path& path) {
  while (!text.empty()) {
    const ssize_t written = storage::uninterrupted([&] { return write(file, text.data(), text.size()); });
    if (written < 0) fail_call("write", path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void sync_folder(const fs::path& folder) {
  const int directory =
      storage::uninterrupted([&] { return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (directory < 0) fail_call("open", folder);
  const int outcome = fsync(directory);
  close(directory);
  if (outcome != 0) fail_call("fsync", folder);
}

void publish_file(const fs::path& folder, const std::string& name, const std::string& text) {
  const fs::path temporary = folder / (name + ".tmp");
  const int file = storage::uninterrupted(
      [&] { return open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); });
  if (file < 0) fail_call("create", temporary);
  try {
    write_all(file, text, temporary);
    if (fsync(file) != 0) fail_call("fsync", temporary);
  } catch (...) {
    close(file);
    unlink(temporary.c_str());
    throw;
  }
  if (close(file) != 0) fail_call("close", temporary);
  fs::rename(temporary, folder / name);
  sync_folder(folder);
}

std::optional<std::string> text_of_regular_file(const fs::path& path) {
  const storage::Descriptor file(storage::uninterrupted(
      [&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); }));
  if (!file.valid()) {
    if (errno == ENOENT || errno == ELOOP || errno == ENXIO) return std::nullopt;
    fail_call("open", path);
  }
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0) fail_call("look at", path);
  if (!S_ISREG(facts.st_mode)) return std::nullopt;
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count = storage::uninterrupted([&] {
      return pread(file.get(), text.data() + filled, text.size() - filled, static_cast<off_t>(filled));
    });
    if (count < 0) fail_call("read", path);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  text.resize(filled);
  return text;
}

}  // namespace ckptsim::simulator
