#include "simulator/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "models/errors.h"
#include "simulator/config/config_part.h"
#include "simulator/engine/failure.h"
#include "simulator/run/backend_choice.h"
#include "simulator/tune/grid.h"
#include "simulator/tune/own_folders.h"

namespace ckptsim::simulator {
namespace {

// The search takes some forty checkpoints, and each more than its writing: rings, buffers, removal.
constexpr double kCheckpointsInTheBudget = 60;
constexpr double kShortestCheckpointSeconds = 0.05;
constexpr double kLongestCheckpointSeconds = 2;

void check(const RunConfig& config) {
  if (config.storage.backend == "null") {
    throw ConfigError(
        "/storage/backend",
        "storage.backend is null, which writes nothing, so that there is nothing to tune; choose "
        "auto, io_uring, direct or buffered");
  }
  if (config.storage.targets.empty()) {
    throw ConfigError("/storage/targets",
                      "no target: name a folder on the drive to tune for with --target DIR (or "
                      "storage.targets)");
  }
}

bool is_io_uring(const RunConfig& config) {
  const std::unique_ptr<Communicator> alone = make_serial_communicator();
  return choose_backend(*alone, config.storage.backend).backend == storage::Backend::kIoUring;
}

bool fixes_scale(const std::vector<std::string>& overrides) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [](const std::string& text) { return text.starts_with("scale="); });
}

// What `work` wrote goes whatever came of it. Its own failure is the one to tell; a second one is added.
template <typename Work>
void with_removal(const OwnFolders& folders, Work&& work) {
  try {
    work();
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const RunFailure*>(&error);
    // A drive that answers no more would not let anything be removed either.
    if (known != nullptr && known->leaving() != Leaving::kNormally) throw;
    const Failure failure = known != nullptr ? Failure{.code = known->code(), .message = known->what()}
                                             : failure_of(error, ExitCode::kInputOutput);
    try {
      folders.remove();
    } catch (const std::exception& second) {
      throw RunFailure(failure.code, fmt::format("{}; and what tune wrote could not be removed: {}",
                                                 failure.message, second.what()));
    }
    throw RunFailure(failure.code, failure.message);
  }
  folders.remove();
}

std::string best_part(const TuneRequest& request, const Found& found, bool io_uring) {
  const RunConfig best = parse_run_config(effective_config(request.config), "the configuration of tune",
                                          found.trials[found.best].settings);
  return config_part(best, grid_keys(io_uring));
}

}  // namespace

TuneResult tune(const TuneRequest& request, const storage::Clock& clock, Progress& progress,
                Interruption& interruption) {
  const storage::Clock::Time begin = clock.now();
  const auto budget =
      std::chrono::duration_cast<storage::Clock::Time>(std::chrono::duration<double>(request.seconds));
  check(request.config);
  const bool io_uring = is_io_uring(request.config);
  TuneResult result{.layers = request.config.model.layers,
                    .dimensions = dimensions_to_vary(request.config, request.overrides, io_uring)};
  if (result.dimensions.empty()) {
    throw ConfigError("",
                      "every setting that this backend has is fixed with --set, so that nothing is left "
                      "to try; leave one out");
  }

  OwnFolders folders(request.config.storage.targets);
  const bool whole_shape = fixes_scale(request.overrides);
  EngineMeasurement engine(request.config, whole_shape, folders, progress, interruption);
  engine.check();
  folders.lock_unused();
  with_removal(folders, [&] {
    if (!whole_shape) {
      const double checkpoint_seconds = std::clamp(request.seconds / kCheckpointsInTheBudget,
                                                   kShortestCheckpointSeconds, kLongestCheckpointSeconds);
      engine.choose_size(checkpoint_seconds, clock, begin + budget);
    }
    const Settings start = configured_settings(result.dimensions);
    result.found = search(
        result.dimensions, [&](const Settings& settings) { return engine.measure(settings, start); }, clock,
        begin + budget);
    result.facts = engine.facts();
  });
  result.best = best_part(request, result.found, io_uring);
  result.seconds = std::chrono::duration<double>(clock.now() - begin).count();
  return result;
}

}  // namespace ckptsim::simulator
