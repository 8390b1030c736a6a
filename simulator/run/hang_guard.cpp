#include "simulator/run/hang_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "simulator/engine/failure.h"
#include "simulator/run/stall_watch.h"
#include "simulator/run/started_thread.h"
#include "storage/text/printable.h"

namespace ckptsim::simulator {
namespace {

constexpr int kTicksInALimit = 8;
constexpr std::chrono::nanoseconds kLongestTick = std::chrono::milliseconds(500);

// From the end of one process to that of the others: Open MPI asks them after a second and kills after two.
constexpr std::chrono::nanoseconds kLauncherNeeds = std::chrono::milliseconds(2500);

}  // namespace

HangLimit hang_limit(const Communicator& communicator, std::chrono::nanoseconds stall_limit) {
  return {.limit = stall_limit,
          .grace = communicator.process() == 0 ? std::chrono::nanoseconds{0} : kLauncherNeeds};
}

std::chrono::nanoseconds silence_limit(std::chrono::nanoseconds stall_limit) {
  constexpr std::chrono::nanoseconds kSinceTheLastSign = std::chrono::seconds(1);
  if (stall_limit.count() <= 0) return stall_limit;
  return stall_limit + kSinceTheLastSign + kLongestTick + 2 * kLauncherNeeds;
}

HangGuard::HangGuard(std::chrono::nanoseconds limit, std::string doing, std::string_view setting)
    : HangGuard(HangLimit{.limit = limit, .setting = setting}, std::move(doing)) {}

HangGuard::HangGuard(const HangLimit& limit, std::string doing) : limit_(limit), doing_(std::move(doing)) {
  if (limit_.limit.count() <= 0) return;
  thread_ = started_thread(fmt::format("to look after {}", doing_), [this] { watch(); });
}

HangGuard::~HangGuard() {
  {
    const std::scoped_lock lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void HangGuard::alive(std::string call) {
  const std::scoped_lock lock(mutex_);
  ++moves_;
  call_ = std::move(call);
}

void HangGuard::about_to(std::string_view doing, const std::filesystem::path& path) {
  alive(fmt::format("{} {}", doing, path.string()));
}

void HangGuard::watch() {
  const std::chrono::nanoseconds tick = std::min(limit_.limit / kTicksInALimit, kLongestTick);
  const storage::SteadyClock clock;
  StallWatch stalls(limit_.limit + limit_.grace, clock, 1);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, tick, [&] { return done_; })) {
    stalls.look();
    if (stalls.stalled(0, moves_)) end_program();
  }
}

// Under the mutex: the work cannot move on any more.
void HangGuard::end_program() const {
  const std::string doing = call_.empty() ? doing_ : fmt::format("{}: {}", doing_, call_);
  fmt::print(stderr, "ckptsim: on {}: {}\n", host_name(),
             storage::printable(hang_sentence(doing, limit_.limit, limit_.setting, limit_.grace)));
  std::fflush(stderr);
  std::_Exit(static_cast<int>(ExitCode::kInputOutput));
}

}  // namespace ckptsim::simulator
