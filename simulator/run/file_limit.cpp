#include "simulator/run/file_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <system_error>

#include "storage/errors.h"

namespace ckptsim::simulator {

void allow_open_files(std::uint64_t needed) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot read the limit on open files");
  }
  if (limit.rlim_cur >= needed) return;
  if (limit.rlim_max < needed) {
    throw storage::UnsuitableTarget(fmt::format(
        "{} open files are needed at once and this process may have {}; raise the hard limit (ulimit -Hn), "
        "launch more processes, or use checkpoint.fsync \"file\"",
        needed, limit.rlim_max));
  }
  limit.rlim_cur = needed;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot raise the limit on open files");
  }
}

}  // namespace ckptsim::simulator
