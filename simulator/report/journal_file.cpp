#include "simulator/report/journal_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "simulator/report/file_calls.h"
#include "storage/call_listener.h"
#include "storage/errors.h"
#include "storage/uninterrupted.h"

namespace ckptsim::simulator {

JournalFile::~JournalFile() {
  if (file_ >= 0) close(file_);
}

void JournalFile::open(const std::filesystem::path& path) {
  path_ = path;
  storage::CallListener::tell("opening", path);
  // Not a pipe or a device, which would be waited for.
  file_ = storage::uninterrupted(
      [&] { return ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK); });
  if (file_ < 0) fail_call("open", path);
  struct stat facts {};
  if (fstat(file_, &facts) != 0) fail_call("look at", path);
  if (!S_ISREG(facts.st_mode)) throw storage::FormatError(fmt::format("{}: not a file", path.string()));
  bytes_ = facts.st_size;
  if (storage::uninterrupted([&] { return flock(file_, LOCK_EX | LOCK_NB); }) == 0) return;
  if (errno != EWOULDBLOCK) fail_call("lock", path);
  throw storage::UnsuitableTarget(
      fmt::format("{}: a process still writes it; wait for that run to end, or end it", path.string()));
}

std::string JournalFile::text() const {
  storage::CallListener::tell("reading", path_);
  struct stat facts {};
  if (fstat(file_, &facts) != 0) fail_call("look at", path_);
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count = storage::uninterrupted(
        [&] { return pread(file_, text.data() + filled, text.size() - filled, static_cast<off_t>(filled)); });
    if (count < 0) fail_call("read", path_);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  text.resize(filled);
  return text;
}

void JournalFile::cut(std::size_t bytes) {
  storage::CallListener::tell("shortening", path_);
  const auto length = static_cast<off_t>(bytes);
  if (storage::uninterrupted([&] { return ftruncate(file_, length); }) != 0) fail_call("shorten", path_);
  storage::CallListener::tell("in fsync of", path_);
  if (fsync(file_) != 0) fail_call("fsync", path_);
  bytes_ = length;
}

void JournalFile::append(const std::string& lines) {
  try {
    write_all(file_, lines, path_);
    storage::CallListener::tell("in fsync of", path_);
    if (fsync(file_) != 0) fail_call("fsync", path_);
  } catch (const std::system_error&) {
    // Not durable is not finished: the lines go again, where that can still be done.
    (void)!ftruncate(file_, bytes_);
    throw;
  }
  bytes_ += static_cast<off_t>(lines.size());
}

}  // namespace ckptsim::simulator
