#pragma once

#include <chrono>
#include <cstdint>

#include "simulator/communicator/communicator.h"
#include "simulator/run/stall_watch.h"
#include "storage/clock.h"

namespace ckptsim::simulator {

// While a checkpoint is written every process tells the next one that it is there, and watches the one
// before it (the first follows the last): of processes that are stopped, or on a host that is, one at least
// has a neighbour that notices. Main thread only.
class NeighbourWatch {
 public:
  // With one process, or a limit of zero, nobody is told and nobody is watched.
  NeighbourWatch(Communicator& communicator, std::chrono::nanoseconds limit, const storage::Clock& clock,
                 std::uint32_t checkpoint);

  void heard() { ++heard_; }  // a kAlive of this checkpoint has come

  // At every tick: tells the next one when it is time to.
  void look();

  // The process that is watched has given no sign of life for as long as the limit, or twice as long.
  [[nodiscard]] bool silent();
  [[nodiscard]] bool silent_for_twice_the_limit();

  [[nodiscard]] int watched() const { return watched_; }
  [[nodiscard]] std::uint32_t checkpoint() const { return checkpoint_; }

 private:
  Communicator& communicator_;
  const storage::Clock& clock_;
  std::uint32_t checkpoint_;
  bool active_;
  int next_;
  int watched_;
  std::chrono::nanoseconds interval_;
  storage::Clock::Time told_;
  std::uint64_t heard_ = 0;
  StallWatch stalls_;
};

}  // namespace ckptsim::simulator
