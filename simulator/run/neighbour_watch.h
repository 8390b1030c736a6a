#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/run/rank_layout.h"
#include "simulator/run/stall_watch.h"
#include "storage/clock.h"

namespace ckptsim::simulator {

// Every process tells the next one that it is there, and watches the one before it (the first follows the
// last): of processes that are stopped, or whose host is, one at least has a neighbour that notices. Main
// thread only; for a stretch in which no process does anything long without looking.
class NeighbourWatch {
 public:
  // With one process, or a limit of zero, nobody is told and nobody is watched. `checkpoint`: the ordinal
  // that messages carry. All references outlive the watch.
  NeighbourWatch(Communicator& communicator, const std::vector<RankPlace>& places,
                 std::chrono::nanoseconds limit, const storage::Clock& clock, std::uint32_t checkpoint);

  // A kAlive or kSilent has come. Throws as look() does.
  void heard(const SideMessage& message);

  // Tells the next process that this one is there, when it is time to: within long work, which does not look.
  void tell();

  // At every tick. Tells the next process that this one is there, when it is time to. Where the one before
  // has given no sign of life for the limit, process 0 is told, which can still write the result, and throws
  // RunFailure with Leaving::kAbort; where process 0 is the silent one, or does not act for as long again,
  // whoever noticed does.
  void look();

 private:
  [[noreturn]] void end_because_of(int silent_process) const;

  Communicator& communicator_;
  const std::vector<RankPlace>& places_;
  const storage::Clock& clock_;
  std::uint32_t checkpoint_;
  bool active_;
  int next_;
  int watched_;
  std::chrono::nanoseconds interval_;
  storage::Clock::Time told_;
  std::uint64_t heard_ = 0;
  bool reported_ = false;
  StallWatch stalls_;
};

}  // namespace ckptsim::simulator
