#include "storage/target/directory_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <regex>
#include <string>
#include <system_error>

#include "storage/call_listener.h"
#include "storage/errors.h"
#include "storage/uninterrupted.h"

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

// Where only readers hold the lock. The line in the file is then that of a run that ended long ago.
void refuse_readers(int lock, const std::filesystem::path& path) {
  if (uninterrupted([&] { return flock(lock, LOCK_SH | LOCK_NB); }) != 0) return;
  throw UnsuitableTarget(fmt::format("{} is being read (ckptsim verify); wait for it or use another target",
                                     path.parent_path().string()));
}

void write_holder(int lock, const std::filesystem::path& path) {
  CallListener::tell("writing", path);
  const std::string line = holder_line();
  if (uninterrupted([&] { return ftruncate(lock, 0); }) != 0) throw_last_error("truncate", path);
  const ssize_t count = uninterrupted([&] { return pwrite(lock, line.data(), line.size(), 0); });
  if (count < 0) throw_last_error("write", path);
  if (count != static_cast<ssize_t>(line.size())) {
    throw UnsuitableTarget(fmt::format("{} could not be written: no space left for one line", path.string()));
  }
}

// A file of another name too would be written to elsewhere.
void check_own_file(int lock, const std::filesystem::path& path) {
  struct stat facts {};
  if (fstat(lock, &facts) != 0) throw_last_error("examine", path);
  if (S_ISREG(facts.st_mode) && facts.st_nlink <= 1) return;
  throw UnsuitableTarget(
      fmt::format("{} is {} where this program keeps its lock; remove it or use another target",
                  path.string(), S_ISREG(facts.st_mode) ? "a hard link to another file" : "no file"));
}

Descriptor open_lock(const Folder& folder, const std::filesystem::path& path) {
  CallListener::tell("opening", path);
  constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  Descriptor lock(
      uninterrupted([&] { return openat(folder.descriptor.get(), kLockFile, flags, kLockMode); }));
  if (lock.valid()) {
    check_own_file(lock.get(), path);
    return lock;
  }
  if (errno == EISDIR || errno == ENXIO) {
    throw UnsuitableTarget(fmt::format(
        "{} is no file, where this program keeps its lock; remove it or use another target", path.string()));
  }
  if (errno == ELOOP) {
    throw UnsuitableTarget(
        fmt::format("{} is a link; a lock that lies elsewhere protects nothing", path.string()));
  }
  throw_last_error("open", path);
}

using LockFile = std::pair<dev_t, ino_t>;

LockFile identity_of(int lock, const std::filesystem::path& path) {
  struct stat facts {};
  if (fstat(lock, &facts) != 0) throw_last_error("examine", path);
  return {facts.st_dev, facts.st_ino};
}

// Whether the folder still has this file under the lock's name: `clean` removes the lock it holds, and a lock
// on a file that is gone keeps nobody out.
bool is_still_there(const Folder& folder, const LockFile& file) {
  struct stat named {};
  return fstatat(folder.descriptor.get(), kLockFile, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         LockFile(named.st_dev, named.st_ino) == file;
}

[[noreturn]] void refuse_lockless(const std::filesystem::path& path) {
  throw UnsuitableTarget(
      fmt::format("{} cannot be locked: {}; the file system needs locks (on NFS, a server that offers them, "
                  "and no mount option nolock)",
                  path.string(), std::system_category().message(errno)));
}

// To flock(2) a second descriptor of the same process is as foreign as another process's, so that who holds
// what in this process has to be known here. Locks are taken and given up under the mutex.
struct HeldLock {
  Descriptor descriptor;
  int shares = 0;
};

struct HeldLocks {
  std::mutex mutex;
  std::map<LockFile, HeldLock> by_file;
};

HeldLocks& held_locks() {
  static HeldLocks locks;
  return locks;
}

}  // namespace

bool is_lock_text(std::string_view text) {
  // As holder_line() writes it; a host's name has at most 255 letters.
  static const std::regex line(
      R"(pid \d{1,10} on host [!-~]{1,255} since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n)");
  return text.empty() || std::regex_match(text.begin(), text.end(), line);
}

DirectoryLock::DirectoryLock(const Folder& folder) {
  const std::filesystem::path path = folder.path / kLockFile;
  Descriptor lock = open_lock(folder, path);
  const LockFile file = identity_of(lock.get(), path);
  HeldLocks& held = held_locks();
  const std::lock_guard guard(held.mutex);
  auto found = held.by_file.find(file);
  if (found == held.by_file.end()) {
    CallListener::tell("locking", path);
    if (uninterrupted([&] { return flock(lock.get(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno == EWOULDBLOCK) {
        refuse_readers(lock.get(), path);
        refuse_held_lock(lock.get(), path);
      }
      if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS) refuse_lockless(path);
      throw_last_error("lock", path);
    }
    if (!is_still_there(folder, file)) {
      throw std::system_error(ENOENT, std::system_category(),
                              fmt::format("{} was removed while it was being locked", path.string()));
    }
    write_holder(lock.get(), path);
    found = held.by_file.try_emplace(file, HeldLock{.descriptor = std::move(lock)}).first;
  }
  ++found->second.shares;
  file_ = file;
}

DirectoryLock::~DirectoryLock() {
  if (!file_) return;
  HeldLocks& held = held_locks();
  const std::lock_guard guard(held.mutex);
  const auto found = held.by_file.find(*file_);
  if (--found->second.shares == 0) held.by_file.erase(found);
}

ReadLock::ReadLock(const Folder& folder) {
  const std::filesystem::path path = folder.path / kLockFile;
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  descriptor_ = Descriptor(openat(folder.descriptor.get(), kLockFile, flags));
  if (!descriptor_.valid()) {
    if (errno == ENOENT || errno == EACCES || errno == EPERM) return;
    if (errno == ELOOP) throw UnsuitableTarget(fmt::format("{} is a link; remove it", path.string()));
    throw_last_error("open", path);
  }
  if (flock(descriptor_.get(), LOCK_SH | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) refuse_held_lock(descriptor_.get(), path);
  const bool no_locks = errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS;
  if (!no_locks) throw_last_error("lock", path);
}

}  // namespace ckptsim::storage
