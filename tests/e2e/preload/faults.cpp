// Loaded before libc by the end-to-end tests (LD_PRELOAD): makes calls misbehave in ways that strace cannot,
// since they have to be carried out in part, or not to return.
//
// CKPTSIM_FAULT is "CALL HOW FIRST [PATH]": from the FIRST-th call on (1, 2, ... of the whole process; of
// those on paths that contain PATH, or end with it where it ends with $), every one is
//   short   carried out for one page of what it asked for (pwrite, write and pread alone)
//   eintr   interrupted once, and carried out when it is tried again
//   hang    never carried out
//   slow    carried out half a second later
//   lost    said to be done and not carried out (ftruncate alone)
//   a number: not carried out, with this errno
// CALL: pwrite, write, pread, fsync, open (also openat), ftruncate, close, rename (also renameat), unlink
// (also unlinkat), fstatat, statvfs, flock, sync_file_range, posix_fadvise. Where CKPTSIM_FAULT_COUNT names a
// file, a byte is added to it for every call that misbehaved.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace {

constexpr std::size_t kPage = 4096;

struct Fault {
  std::string call;
  std::string how;
  long first = 1;
  std::string path;
  std::atomic<long> seen{0};
  int count_file = -1;
};

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

Fault& fault() {
  static Fault* const one = [] {
    auto* made = new Fault;
    // Read once, while nobody changes the environment.
    if (const char* text = std::getenv("CKPTSIM_FAULT")) {  // NOLINT(concurrency-mt-unsafe)
      std::istringstream words(text);
      words >> made->call >> made->how >> made->first >> made->path;
    }
    if (const char* file = std::getenv("CKPTSIM_FAULT_COUNT"))  // NOLINT(concurrency-mt-unsafe)
      made->count_file = next<int(const char*, int, ...)>("open")(file, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    return made;
  }();
  return *one;
}

std::string path_of(int descriptor) {
  char path[4096];
  const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof path);
  return length < 0 ? std::string() : std::string(path, static_cast<std::size_t>(length));
}

bool matches(const std::string& path, const std::string& wanted) {
  if (!wanted.ends_with('$')) return path.find(wanted) != std::string::npos;
  return path.ends_with(wanted.substr(0, wanted.size() - 1));
}

// Whether this call is one of those that misbehave; they are counted.
bool misbehaves(const std::string& path) {
  Fault& one = fault();
  if (!matches(path, one.path)) return false;
  if (one.seen.fetch_add(1) + 1 < one.first) return false;
  if (one.count_file >= 0 &&
      next<ssize_t(int, const void*, std::size_t)>("write")(one.count_file, "x", 1) != 1)
    std::abort();
  return true;
}

// 0: carry it out. -1: errno says why not. 1: say that it is done.
int refused(const char* call, const std::string& path) {
  static thread_local bool interrupted = false;
  Fault& one = fault();
  if (one.call != call || one.how == "short") return 0;
  if (interrupted) return interrupted = false, 0;  // tried again
  if (!misbehaves(path)) return 0;
  if (one.how == "lost") return 1;
  while (one.how == "hang")
    pause();
  if (one.how == "slow") return usleep(500000), 0;
  interrupted = one.how == "eintr";
  errno = interrupted ? EINTR : static_cast<int>(std::strtol(one.how.c_str(), nullptr, 10));
  return -1;
}

int refused(const char* call, int descriptor) {
  return fault().call == call ? refused(call, path_of(descriptor)) : 0;
}

std::size_t shortened(const char* call, int descriptor, std::size_t count) {
  if (fault().how != "short" || fault().call != call || count <= kPage) return count;
  return misbehaves(path_of(descriptor)) ? kPage : count;
}

}  // namespace

extern "C" {

ssize_t pwrite(int descriptor, const void* data, std::size_t count, off_t offset) {
  if (refused("pwrite", descriptor) != 0) return -1;
  return next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite")(
      descriptor, data, shortened("pwrite", descriptor, count), offset);
}

ssize_t pread(int descriptor, void* data, std::size_t count, off_t offset) {
  if (refused("pread", descriptor) != 0) return -1;
  return next<ssize_t(int, void*, std::size_t, off_t)>("pread")(
      descriptor, data, shortened("pread", descriptor, count), offset);
}

ssize_t write(int descriptor, const void* data, std::size_t count) {
  if (refused("write", descriptor) != 0) return -1;
  return next<ssize_t(int, const void*, std::size_t)>("write")(descriptor, data,
                                                               shortened("write", descriptor, count));
}

int fsync(int descriptor) {
  return refused("fsync", descriptor) != 0 ? -1 : next<int(int)>("fsync")(descriptor);
}

int ftruncate(int descriptor, off_t length) noexcept {
  if (const int answer = refused("ftruncate", descriptor); answer != 0) return answer < 0 ? -1 : 0;
  return next<int(int, off_t)>("ftruncate")(descriptor, length);
}

// As the kernel does it: the descriptor is gone whatever close says.
int close(int descriptor) {
  const int answer = refused("close", descriptor);
  const int error = errno;
  const int closed = next<int(int)>("close")(descriptor);
  if (answer == 0) return closed;
  errno = error;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  return refused("rename", std::string(to)) != 0 ? -1
                                                 : next<int(const char*, const char*)>("rename")(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  if (refused("rename", std::string(to)) != 0) return -1;
  return next<int(int, const char*, int, const char*)>("renameat")(from_folder, from, to_folder, to);
}

int unlink(const char* path) noexcept {
  return refused("unlink", std::string(path)) != 0 ? -1 : next<int(const char*)>("unlink")(path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  if (refused("unlink", std::string(path)) != 0) return -1;
  return next<int(int, const char*, int)>("unlinkat")(folder, path, flags);
}

int fstatat(int folder, const char* path, struct stat* facts, int flags) noexcept {
  if (refused("fstatat", std::string(path)) != 0) return -1;
  return next<int(int, const char*, struct stat*, int)>("fstatat")(folder, path, facts, flags);
}

int statvfs(const char* path, struct statvfs* facts) noexcept {
  if (refused("statvfs", std::string(path)) != 0) return -1;
  return next<int(const char*, struct statvfs*)>("statvfs")(path, facts);
}

int flock(int descriptor, int operation) noexcept {
  return refused("flock", descriptor) != 0 ? -1 : next<int(int, int)>("flock")(descriptor, operation);
}

int sync_file_range(int descriptor, off_t offset, off_t count, unsigned flags) {
  if (refused("sync_file_range", descriptor) != 0) return -1;
  return next<int(int, off_t, off_t, unsigned)>("sync_file_range")(descriptor, offset, count, flags);
}

// Answers with the error itself.
int posix_fadvise(int descriptor, off_t offset, off_t count, int advice) noexcept {
  if (refused("posix_fadvise", descriptor) != 0) return errno;
  return next<int(int, off_t, off_t, int)>("posix_fadvise")(descriptor, offset, count, advice);
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (refused("open", std::string(path)) != 0) return -1;
  return next<int(const char*, int, ...)>("open")(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (refused("open", std::string(path)) != 0) return -1;
  return next<int(int, const char*, int, ...)>("openat")(folder, path, flags, mode);
}

}  // extern "C"
