#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/config/run_config.h"
#include "simulator/run/interruption.h"
#include "simulator/run/progress.h"
#include "simulator/run/result.h"
#include "simulator/tune/own_folders.h"
#include "simulator/tune/search.h"

namespace ckptsim::simulator {

// What all measurements had in common, and their sums.
struct MeasurementFacts {
  RunResult first;  // of the size that was chosen, with the configured settings
  std::uint64_t checkpoints = 0;
  std::uint64_t written_bytes = 0;
  std::map<std::string, std::uint64_t> bounds;  // bound_name() -> checkpoints, of the chosen size
  std::uint64_t unregistered = 0;               // checkpoints of that size whose buffers were not registered
  std::string unregistered_reason;
};

// Measures settings with the real engine: one new checkpoint each, written by the run's own ranks as threads
// of this process. All references outlive it.
class EngineMeasurement {
 public:
  // `whole_shape`: the configuration's own layers and scale are written; otherwise a small checkpoint, whose
  // size choose_size() adapts. A measurement that is asked to end does so with RunFailure 130.
  EngineMeasurement(const RunConfig& config, bool whole_shape, const OwnFolders& folders, Progress& progress,
                    Interruption& interruption);

  // What a dry run finds, before a checkpoint: target missing, no space. Makes nothing.
  void check();

  // Chooses the size of a checkpoint such that one takes about `seconds_wanted`, by writing some with the
  // configured settings until `deadline`; at most half of a target's free space.
  void choose_size(double seconds_wanted, const storage::Clock& clock, storage::Clock::Time deadline);

  // One checkpoint. The settings that `start` equals are the configured ones. A setting that this host,
  // backend or target cannot do is an Outcome with its refusal; RunFailure, ConfigError: anything else, and
  // the configured settings refused.
  [[nodiscard]] Outcome measure(const Settings& settings, const Settings& start);

  [[nodiscard]] const MeasurementFacts& facts() const { return facts_; }

 private:
  const SaveResult& write_checkpoint(const Settings& settings);
  [[nodiscard]] RunConfig config_with(const Settings& settings) const;

  RunConfig config_;
  RunConfig sized_;
  const OwnFolders& folders_;
  Progress& progress_;
  Interruption& interruption_;
  std::unique_ptr<Communicator> communicator_;
  RunResult last_;
  MeasurementFacts facts_;
};

}  // namespace ckptsim::simulator
