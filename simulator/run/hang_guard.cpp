#include "simulator/run/hang_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "simulator/engine/failure.h"
#include "simulator/run/stall_watch.h"
#include "storage/text/printable.h"

namespace ckptsim::simulator {

HangGuard::HangGuard(std::chrono::nanoseconds limit, std::string doing, std::string_view setting)
    : limit_(limit), doing_(std::move(doing)), setting_(setting) {
  if (limit_.count() > 0) thread_.emplace([this] { watch(); });
}

HangGuard::~HangGuard() {
  {
    const std::scoped_lock lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  if (thread_.has_value()) thread_->join();
}

void HangGuard::watch() {
  constexpr int kTicksInALimit = 8;
  constexpr std::chrono::nanoseconds kLongestTick = std::chrono::milliseconds(500);
  const std::chrono::nanoseconds tick = std::min(limit_ / kTicksInALimit, kLongestTick);
  const storage::SteadyClock clock;
  StallWatch stalls(limit_, clock, 1);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, tick, [&] { return done_; })) {
    stalls.look();
    if (!stalls.stalled(0, 0)) continue;
    fmt::print(stderr, "ckptsim: on {}: {}\n", host_name(),
               storage::printable(hang_sentence(doing_, limit_, setting_)));
    std::fflush(stderr);
    std::_Exit(static_cast<int>(ExitCode::kInputOutput));
  }
}

}  // namespace ckptsim::simulator
