// How long a plan takes: sizes of every file, by number of ranks.
#include <benchmark/benchmark.h>

#include <string>

#include "simulator/plan/plan.h"

namespace {

using namespace ckptsim::simulator;

void planning(benchmark::State& state) {
  const RunConfig config =
      load_run_config("llama3.1-405b-tp4pp2",
                      {"parallelism.data=" + std::to_string(state.range(0) / 8), "parallelism.zero_stage=1"});
  for ([[maybe_unused]] auto iteration : state)
    benchmark::DoNotOptimize(make_plan(config));
}
BENCHMARK(planning)->Arg(8)->Arg(512)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
