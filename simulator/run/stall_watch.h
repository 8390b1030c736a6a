#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/config/run_config.h"
#include "storage/clock.h"
#include "storage/target/target_activity.h"

namespace ckptsim::simulator {

// Notices what has not moved for too long, by a count that each of its subjects shows. Only time in which
// somebody looked is counted: a process that was itself stopped for an hour has not waited for an hour.
// One thread.
class StallWatch {
 public:
  // A limit of zero: nothing is ever too long. The clock outlives the watch.
  StallWatch(std::chrono::nanoseconds limit, const storage::Clock& clock, std::size_t subjects);

  // At every tick, before stalled(): adds the time since the last look, a second of it at most.
  void look();

  // For how long `subject` has shown this count, and whether that is as long as the limit.
  [[nodiscard]] std::chrono::nanoseconds still_for(std::size_t subject, std::uint64_t count);
  [[nodiscard]] bool stalled(std::size_t subject, std::uint64_t count);

  // What a target waits for in a call of its thread's that has not returned for the limit.
  [[nodiscard]] std::optional<storage::TargetActivity::Waiting> stalled_call(
      std::size_t subject, const storage::TargetActivity& activity);

  [[nodiscard]] std::chrono::nanoseconds limit() const { return limit_; }

 private:
  struct Seen {
    std::uint64_t count = 0;
    std::chrono::nanoseconds since{};  // of watched_
  };

  std::chrono::nanoseconds limit_;
  const storage::Clock& clock_;
  storage::Clock::Time last_look_;
  std::chrono::nanoseconds watched_{};
  std::vector<Seen> seen_;
};

// storage.stall_seconds.
[[nodiscard]] std::chrono::nanoseconds stall_limit(const RunConfig& config);

}  // namespace ckptsim::simulator
