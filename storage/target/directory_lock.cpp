#include "storage/target/directory_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>

#include "storage/errors.h"

namespace ckptsim::storage {
namespace {

constexpr mode_t kLockMode = 0644;

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string holder_line() {
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("pid {} on host {} since {:%Y-%m-%dT%H:%M:%SZ}\n", getpid(), host_name(),
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

[[noreturn]] void refuse_held_lock(int lock, const std::filesystem::path& path) {
  std::string holder = read_small_file(lock, path);
  holder = holder.substr(0, holder.find('\n'));
  // A run that has only just taken the lock may not have written its line yet.
  throw UnsuitableTarget(fmt::format("another run is using {}{}{}; wait for it or use another target",
                                     path.parent_path().string(), holder.empty() ? "" : ": ", holder));
}

void write_holder(int lock, const std::filesystem::path& path) {
  const std::string line = holder_line();
  if (ftruncate(lock, 0) != 0) throw_last_error("truncate", path);
  const ssize_t count = pwrite(lock, line.data(), line.size(), 0);
  if (count < 0) throw_last_error("write", path);
  if (count != static_cast<ssize_t>(line.size())) {
    throw UnsuitableTarget(fmt::format("{} could not be written: no space left for one line", path.string()));
  }
}

}  // namespace

Descriptor take_directory_lock(const Folder& folder) {
  const std::filesystem::path path = folder.path / kLockFile;
  constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
  Descriptor lock(openat(folder.descriptor.get(), kLockFile, flags, kLockMode));
  if (!lock.valid() && errno == ELOOP) {
    throw UnsuitableTarget(
        fmt::format("{} is a link; a lock that lies elsewhere protects nothing", path.string()));
  }
  if (!lock.valid()) throw_last_error("open", path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) refuse_held_lock(lock.get(), path);
    throw_last_error("lock", path);
  }
  write_holder(lock.get(), path);
  return lock;
}

}  // namespace ckptsim::storage
