#pragma once

#include <ctime>

namespace ckptsim::storage::torch {

// Of this thread: what else the machine does, does not count.
template <typename Work>
[[nodiscard]] double cpu_seconds_of(Work work) {
  const auto now = [] {
    timespec time = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double before = now();
  work();
  return now() - before;
}

// For inputs that take well under a second, with a sanitizer too, and minutes where time grows with their
// square.
inline constexpr double kMostCpuSeconds = 30;

}  // namespace ckptsim::storage::torch
