#include "simulator/run/neighbour_watch.h"

#include <algorithm>
#include <utility>

#include "simulator/engine/failure.h"
#include "simulator/run/stall_words.h"

namespace ckptsim::simulator {
namespace {

// Often enough that a message or two may be late, and never so often that anybody notices.
std::chrono::nanoseconds interval_for(std::chrono::nanoseconds limit) {
  constexpr int kSignsInALimit = 8;
  return std::clamp<std::chrono::nanoseconds>(limit / kSignsInALimit, std::chrono::milliseconds(50),
                                              std::chrono::seconds(1));
}

}  // namespace

NeighbourWatch::NeighbourWatch(Communicator& communicator, const std::vector<RankPlace>& places,
                               std::chrono::nanoseconds limit, const storage::Clock& clock,
                               std::uint32_t checkpoint)
    : communicator_(communicator),
      places_(places),
      clock_(clock),
      checkpoint_(checkpoint),
      active_(communicator.processes() > 1 && limit.count() > 0),
      next_((communicator.process() + 1) % communicator.processes()),
      watched_((communicator.process() + communicator.processes() - 1) % communicator.processes()),
      interval_(interval_for(limit)),
      told_(clock.now()),
      stalls_(limit, clock, 1) {}

void NeighbourWatch::heard(const SideMessage& message) {
  if (message.kind == SideMessage::Kind::kAlive) ++heard_;
  if (message.kind == SideMessage::Kind::kSilent) end_because_of(static_cast<int>(message.value));
}

void NeighbourWatch::tell() {
  if (!active_ || clock_.now() - told_ < interval_) return;
  told_ = clock_.now();
  communicator_.post(
      next_,
      {.kind = SideMessage::Kind::kAlive, .checkpoint = checkpoint_, .process = communicator_.process()});
}

void NeighbourWatch::look() {
  if (!active_) return;
  stalls_.look();
  tell();
  const std::chrono::nanoseconds silence = stalls_.still_for(0, heard_);
  if (silence < stalls_.limit()) return;
  if (communicator_.process() == 0 || watched_ == 0 || silence >= 2 * stalls_.limit())
    end_because_of(watched_);
  if (std::exchange(reported_, true)) return;
  communicator_.post(0, {.kind = SideMessage::Kind::kSilent,
                         .checkpoint = checkpoint_,
                         .process = communicator_.process(),
                         .value = static_cast<std::uint64_t>(watched_)});
}

void NeighbourWatch::end_because_of(int silent_process) const {
  throw RunFailure(ExitCode::kInputOutput, silence_sentence(silent_process, places_, stalls_.limit()),
                   Leaving::kAbort);
}

}  // namespace ckptsim::simulator
