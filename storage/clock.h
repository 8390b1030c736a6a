#pragma once

#include <chrono>

namespace ckptsim::storage {

// The clock that durations are taken from. Times of one clock can be compared with each other only.
class Clock {
 public:
  using Time = std::chrono::nanoseconds;  // since an arbitrary origin; never goes back

  virtual ~Clock() = default;
  [[nodiscard]] virtual Time now() const = 0;  // thread-safe
};

// CLOCK_MONOTONIC.
class SteadyClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

}  // namespace ckptsim::storage
