#include "simulator/cli/resume_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "models/errors.h"
#include "simulator/communicator/packing.h"
#include "simulator/config/config_part.h"
#include "simulator/engine/failure.h"
#include "simulator/plan/plan.h"
#include "simulator/report/version.h"

namespace ckptsim::cli {
namespace {

using simulator::ExitCode;

namespace fs = std::filesystem;

// Whether `now` leads to the folder that target number `index` was.
bool is_same_target(const simulator::RunResult& earlier, std::size_t index, const std::string& now) {
  if (earlier.config.storage.targets[index] == now) return true;
  std::error_code error;
  const fs::path path = fs::canonical(now, error);
  if (error) return false;
  const auto& targets = earlier.environment.targets;
  return std::any_of(targets.begin(), targets.end(), [&](const simulator::TargetEnvironment& target) {
    return target.target == index && target.path == path;
  });
}

// The configuration with each target as the run began spelt it, where it is the same folder.
simulator::RunConfig respelt(simulator::RunConfig config, const simulator::RunResult& earlier) {
  std::vector<std::string>& targets = config.storage.targets;
  for (std::size_t i = 0; i < std::min(targets.size(), earlier.config.storage.targets.size()); ++i) {
    if (is_same_target(earlier, i, targets[i])) targets[i] = earlier.config.storage.targets[i];
  }
  return config;
}

void refuse_other_run(const simulator::RunResult& earlier, const simulator::RunConfig& config,
                      const std::string& folder) {
  if (const auto differs = simulator::first_difference(earlier.config, respelt(config, earlier))) {
    throw ConfigError("",
                      fmt::format("--resume {}: {} was {} when the run began and is {} now; give the same "
                                  "configuration and options, or begin a new run without --resume",
                                  folder, differs->key, differs->value, differs->other));
  }
  if (earlier.version != simulator::version()) {
    throw ConfigError(
        "", fmt::format("--resume {}: the run was begun with version {} of this program, which is {}; "
                        "go on with that one, or begin a new run without --resume",
                        folder, earlier.version, simulator::version()));
  }
}

}  // namespace

simulator::Resume take_up(simulator::Communicator& communicator, const std::string& resumed,
                          const simulator::RunConfig& config, simulator::ResultFolder& folder) {
  simulator::Resume resume;
  std::string known;
  simulator::together(communicator, ExitCode::kInputOutput, [&] {
    if (communicator.process() != 0) return;
    resume.earlier = folder.take_up(resumed);
    refuse_other_run(*resume.earlier, config, resumed);
    for (const simulator::PassResult& pass : resume.earlier->passes) {
      for (const simulator::CheckpointResult& checkpoint : pass.checkpoints) {
        ++resume.finished;
        if (checkpoint.load.has_value()) ++resume.loaded;
      }
    }
    const simulator::EffectiveSettings& effective = resume.earlier->effective;
    known = simulator::pack({std::to_string(resume.finished), std::to_string(resume.loaded),
                             std::to_string(effective.checkpoints_per_pass), effective.checkpoints_reason});
  });
  const std::vector<std::string> field = simulator::unpack(communicator.broadcast(known));
  resume.finished = std::stoull(field[0]);
  resume.loaded = std::stoull(field[1]);
  resume.checkpoints_per_pass = std::stoll(field[2]);
  resume.checkpoints_reason = field[3];
  return resume;
}

simulator::RunResult finished_result(const simulator::Resume& resume, simulator::ResultFolder& folder) {
  simulator::RunResult result = *resume.earlier;
  result.plan = simulator::make_plan(result.config);
  result.status = "complete";
  folder.end_unless_stored(result);
  return result;
}

}  // namespace ckptsim::cli
