#include "simulator/run/stall_words.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <string_view>

namespace ckptsim::simulator {
namespace {

using storage::Request;

std::string_view doing(Request::Kind kind) {
  switch (kind) {
    case Request::Kind::kOpen:
      return "creating";
    case Request::Kind::kOpenToRead:
      return "opening";
    case Request::Kind::kPreallocate:
      return "preallocating";
    case Request::Kind::kWrite:
      return "writing";
    case Request::Kind::kRead:
      return "reading";
    case Request::Kind::kSetLength:
      return "setting the length of";
    case Request::Kind::kSync:
    case Request::Kind::kSyncDirectory:
      return "in fsync of";
    case Request::Kind::kClose:
      return "closing";
  }
  return "using";
}

std::string advice(std::string_view setting) {
  return fmt::format("look for the drive in the kernel's log (dmesg), or raise {} if it may take that long",
                     setting);
}

double seconds_of(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// As the kernel's log has it, too.
std::string utc(std::chrono::nanoseconds ago) {
  using std::chrono::system_clock;
  const auto then = system_clock::now() - std::chrono::duration_cast<system_clock::duration>(ago);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(system_clock::to_time_t(then)));
}

}  // namespace

std::string stall_sentence(const storage::TargetActivity::Waiting& waiting, std::chrono::nanoseconds limit,
                           storage::Clock::Time now, std::string_view setting) {
  const std::string place =
      storage::is_transfer(waiting.kind) ? fmt::format(" at offset {}", waiting.offset) : "";
  return fmt::format("no answer for {:g} s while it was {} {}{} (since {}); {}", seconds_of(limit),
                     doing(waiting.kind), waiting.path, place, utc(now - waiting.since), advice(setting));
}

std::string hang_sentence(const std::string& doing, std::chrono::nanoseconds limit, std::string_view setting,
                          std::chrono::nanoseconds grace) {
  return fmt::format("no answer for {:g} s while it was {} (since {}); {}", seconds_of(limit), doing,
                     utc(limit + grace), advice(setting));
}

std::string silence_sentence(int process, const std::vector<RankPlace>& places,
                             std::chrono::nanoseconds limit) {
  std::string ranks;
  std::string host;
  long first = -1;
  for (const RankPlace& place : places) {
    if (place.process != process) continue;
    if (first < 0) first = place.rank;
    ranks =
        place.rank == first ? fmt::format("rank {}", first) : fmt::format("ranks {}-{}", first, place.rank);
    host = place.host;
  }
  return fmt::format(
      "process {} ({} on {}) has not answered for {:g} s: it is stopped, or its host or a drive that it "
      "waits for hangs; the run is "
      "ended",
      process, ranks, host, seconds_of(limit));
}

}  // namespace ckptsim::simulator
