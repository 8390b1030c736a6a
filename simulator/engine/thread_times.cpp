#include "simulator/engine/thread_times.h"

#include <cstdint>
#include <ctime>
#include <fstream>

namespace ckptsim::simulator {

ThreadTimes thread_times() {
  ThreadTimes times;
  timespec cpu{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0) {
    times.cpu_ns = static_cast<std::int64_t>(cpu.tv_sec) * 1'000'000'000 + cpu.tv_nsec;
  }
  std::ifstream schedstat("/proc/thread-self/schedstat");
  std::int64_t running_ns = 0;
  std::int64_t waiting_ns = 0;
  if (schedstat >> running_ns >> waiting_ns) times.cpu_wait_ns = waiting_ns;
  return times;
}

}  // namespace ckptsim::simulator
