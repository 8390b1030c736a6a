#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/config/run_config.h"
#include "simulator/run/interruption.h"
#include "simulator/run/progress.h"
#include "simulator/tune/engine_measurement.h"
#include "simulator/tune/search.h"
#include "storage/clock.h"

namespace ckptsim::simulator {

struct TuneRequest {
  RunConfig config;
  std::vector<std::string> overrides;  // the --set that are in `config` already: their keys stay as they are
  double seconds = 60;
};

struct TuneResult {
  std::int64_t layers = 0;  // of the run's model; MeasurementFacts::first has those that were written
  double seconds = 0;
  std::vector<Dimension> dimensions;
  Found found;
  MeasurementFacts facts;
  std::string best;  // part of a run's configuration, JSON
};

// Tries settings on the run's targets, whose locks it holds throughout, until it is asked to end. Whatever
// happens, what it wrote is removed before this ends. Throws RunFailure, ConfigError,
// storage::UnsuitableTarget, std::system_error.
[[nodiscard]] TuneResult tune(const TuneRequest& request, const storage::Clock& clock, Progress& progress,
                              Interruption& interruption);

}  // namespace ckptsim::simulator
