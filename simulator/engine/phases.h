#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "storage/clock.h"

namespace ckptsim::simulator {

// What a rank spends a checkpoint's time on. Phases abut: a rank's duration is their sum
// (docs/what-is-timed.md).
enum class Phase : std::size_t { kCreate, kPreallocate, kWrite, kSync, kClose, kDirectorySync };
inline constexpr std::size_t kPhases = 6;
inline constexpr std::array<std::string_view, kPhases> kPhaseNames = {
    "create", "preallocate", "write", "sync", "close", "directory_sync"};

// The same of a load.
enum class LoadPhase : std::size_t { kOpen, kMetadata, kRead, kClose };
inline constexpr std::size_t kLoadPhases = 4;
inline constexpr std::array<std::string_view, kLoadPhases> kLoadPhaseNames = {"open", "metadata", "read",
                                                                              "close"};

// Adds up the time of each phase; at any moment between start() and stop() exactly one phase is running.
template <typename Phase, std::size_t kCount>
class BasicPhaseTimer {
 public:
  using Time = storage::Clock::Time;

  void start(Time now, Phase phase) {
    started_ = now;
    switched_ = now;
    phase_ = phase;
  }

  void switch_to(Phase phase, Time now) {
    totals_[static_cast<std::size_t>(phase_)] += now - switched_;
    switched_ = now;
    phase_ = phase;
  }

  void stop(Time now) { switch_to(phase_, now); }

  [[nodiscard]] Time started() const { return started_; }
  [[nodiscard]] Time duration() const { return switched_ - started_; }  // after stop()
  [[nodiscard]] Phase current() const { return phase_; }
  [[nodiscard]] const std::array<Time, kCount>& totals() const { return totals_; }

 private:
  Time started_{};
  Time switched_{};
  Phase phase_{};
  std::array<Time, kCount> totals_{};
};

using PhaseTimer = BasicPhaseTimer<Phase, kPhases>;
using LoadPhaseTimer = BasicPhaseTimer<LoadPhase, kLoadPhases>;

}  // namespace ckptsim::simulator
