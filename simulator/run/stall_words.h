#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/run/rank_layout.h"
#include "storage/clock.h"
#include "storage/target/target_activity.h"

namespace ckptsim::simulator {

// What sets a run's limit.
inline constexpr std::string_view kStallSetting = "storage.stall_seconds";

// What is said of a rank whose target answers no more, without rank and host: "no answer for 300 s while it
// was writing FILE at offset N (since …)" and what to do: look, or raise `setting`. `now`: of the clock that
// stamped `waiting`.
[[nodiscard]] std::string stall_sentence(const storage::TargetActivity::Waiting& waiting,
                                         std::chrono::nanoseconds limit, storage::Clock::Time now,
                                         std::string_view setting = kStallSetting);

// The same of the main thread's own work. `grace`: for how much longer than the limit it was waited for.
[[nodiscard]] std::string hang_sentence(const std::string& doing, std::chrono::nanoseconds limit,
                                        std::string_view setting = kStallSetting,
                                        std::chrono::nanoseconds grace = {});

// What is said of a process that gives no sign of life: "process 2 (ranks 6-7 on HOST) has not answered for
// 300 s" and what that may be. `places`: of all ranks.
[[nodiscard]] std::string silence_sentence(int process, const std::vector<RankPlace>& places,
                                           std::chrono::nanoseconds limit);

}  // namespace ckptsim::simulator
