#pragma once

#include <cstdint>
#include <optional>

namespace ckptsim::simulator {

// What the scheduler knows of the calling thread, since it began.
struct ThreadTimes {
  std::int64_t cpu_ns = 0;                  // running (CLOCK_THREAD_CPUTIME_ID)
  std::optional<std::int64_t> cpu_wait_ns;  // ready to run and waiting for a processor; none where the kernel
                                            // does not count it (/proc/thread-self/schedstat)
};
[[nodiscard]] ThreadTimes thread_times();

}  // namespace ckptsim::simulator
