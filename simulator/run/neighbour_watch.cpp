#include "simulator/run/neighbour_watch.h"

#include <algorithm>

namespace ckptsim::simulator {
namespace {

// Often enough that a message or two may be late, and never so often that anybody notices.
std::chrono::nanoseconds interval_for(std::chrono::nanoseconds limit) {
  constexpr int kSignsInALimit = 8;
  return std::clamp<std::chrono::nanoseconds>(limit / kSignsInALimit, std::chrono::milliseconds(50),
                                              std::chrono::seconds(1));
}

}  // namespace

NeighbourWatch::NeighbourWatch(Communicator& communicator, std::chrono::nanoseconds limit,
                               const storage::Clock& clock, std::uint32_t checkpoint)
    : communicator_(communicator),
      clock_(clock),
      checkpoint_(checkpoint),
      active_(communicator.processes() > 1 && limit.count() > 0),
      next_((communicator.process() + 1) % communicator.processes()),
      watched_((communicator.process() + communicator.processes() - 1) % communicator.processes()),
      interval_(interval_for(limit)),
      told_(clock.now()),
      stalls_(limit, clock, 1) {}

void NeighbourWatch::look() {
  if (!active_) return;
  stalls_.look();
  if (clock_.now() - told_ < interval_) return;
  told_ = clock_.now();
  communicator_.post(next_, {.kind = SideMessage::Kind::kAlive,
                             .checkpoint = checkpoint_,
                             .process = communicator_.process()});
}

bool NeighbourWatch::silent() {
  return active_ && stalls_.stalled(0, heard_);
}

bool NeighbourWatch::silent_for_twice_the_limit() {
  return active_ && stalls_.still_for(0, heard_) >= 2 * stalls_.limit();
}

}  // namespace ckptsim::simulator
