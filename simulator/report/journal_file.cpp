#include "simulator/report/journal_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "simulator/report/file_calls.h"
#include "storage/errors.h"

namespace ckptsim::simulator {

JournalFile::~JournalFile() {
  if (file_ >= 0) close(file_);
}

void JournalFile::open(const std::filesystem::path& path) {
  path_ = path;
  // Not a pipe or a device, which would be waited for.
  file_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0) fail_call("open", path);
  struct stat facts {};
  if (fstat(file_, &facts) != 0) fail_call("look at", path);
  if (!S_ISREG(facts.st_mode)) throw storage::FormatError(fmt::format("{}: not a file", path.string()));
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) fail_call("lock", path);
  throw storage::UnsuitableTarget(
      fmt::format("{}: a process still writes it; wait for that run to end, or end it", path.string()));
}

std::string JournalFile::text() const {
  struct stat facts {};
  if (fstat(file_, &facts) != 0) fail_call("look at", path_);
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count =
        pread(file_, text.data() + filled, text.size() - filled, static_cast<off_t>(filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_call("read", path_);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  text.resize(filled);
  return text;
}

void JournalFile::cut(std::size_t bytes) {
  if (ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail_call("shorten", path_);
  if (fsync(file_) != 0) fail_call("fsync", path_);
}

void JournalFile::append(const std::string& lines) {
  write_all(file_, lines, path_);
  if (fsync(file_) != 0) fail_call("fsync", path_);
}

}  // namespace ckptsim::simulator
