#include "simulator/engine/thread_times.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

namespace ckptsim::simulator {
namespace {

void spin_until(std::int64_t cpu_ns) {
  while (thread_times().cpu_ns < cpu_ns)
    continue;
}

TEST(ThreadTimes, CountWhatThisThreadRan) {
  const ThreadTimes before = thread_times();
  spin_until(before.cpu_ns + 20'000'000);
  EXPECT_GE(thread_times().cpu_ns, before.cpu_ns + 20'000'000);
}

// Two threads that both want the same processor wait for each other about as long as they run.
TEST(ThreadTimes, CountWaitingForAProcessor) {
  if (!thread_times().cpu_wait_ns.has_value()) GTEST_SKIP() << "this kernel does not count it";
  std::atomic<std::int64_t> waited{0};
  cpu_set_t processor;
  CPU_ZERO(&processor);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &processor);
  const auto compete = [&waited, processor] {
    ASSERT_EQ(sched_setaffinity(0, sizeof processor, &processor), 0);
    spin_until(200'000'000);
    waited += thread_times().cpu_wait_ns.value_or(0);
  };
  {
    const std::jthread one(compete);
    const std::jthread other(compete);
  }
  EXPECT_GT(waited.load(), 100'000'000);
}

}  // namespace
}  // namespace ckptsim::simulator
