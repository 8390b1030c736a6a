// What it costs a rank that somebody can see what it waits for: the notes of one write, of the kind that a
// ring has in flight beside others.
#include <benchmark/benchmark.h>

#include "storage/target/target_activity.h"

namespace {

using namespace ckptsim::storage;

// As io_uring's target does it: submitted (a call), waited for (a call), answered. Argument: in flight.
void notes_of_a_write(benchmark::State& state) {
  constexpr Clock::Time kNow{1};
  TargetActivity activity;
  Request request;
  request.kind = Request::Kind::kOpen;
  request.file = 1;
  request.path = "layer_017-model_03-model_states.pt";
  activity.begin_submit(request, kNow);
  activity.end_call();
  activity.answered(request.kind, 1, 0);
  request.kind = Request::Kind::kWrite;
  request.path.clear();
  const auto in_flight = static_cast<std::uint64_t>(state.range(0));
  for (request.offset = 0; request.offset + 1 < in_flight; ++request.offset) {
    activity.begin_submit(request, kNow);
    activity.end_call();
  }
  for ([[maybe_unused]] auto iteration : state) {
    activity.begin_submit(request, kNow);
    activity.end_call();
    activity.begin_wait();
    activity.answered(Request::Kind::kWrite, 1, request.offset + 1 - in_flight);
    activity.end_call();
    ++request.offset;
  }
}
BENCHMARK(notes_of_a_write)->Arg(1)->Arg(4)->Arg(64);

}  // namespace

BENCHMARK_MAIN();
