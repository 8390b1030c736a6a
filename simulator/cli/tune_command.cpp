#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "simulator/cli/command.h"
#include "simulator/cli/signal_watch.h"
#include "simulator/communicator/communicator.h"
#include "simulator/config/run_config.h"
#include "simulator/report/tune_progress.h"
#include "simulator/report/tune_report.h"
#include "simulator/tune/tune.h"

namespace ckptsim::cli {
namespace {

struct TuneOptions {
  std::string config;
  std::vector<std::string> targets;
  std::vector<std::string> overrides;
  double seconds = 60;
  ProgressOptions progress;
  OutputFormat format;
};

simulator::RunConfig load_config(const TuneOptions& options) {
  simulator::RunConfig config = simulator::load_run_config(options.config, options.overrides);
  if (!options.targets.empty()) config.storage.targets = options.targets;
  return config;
}

void tune_and_print(const TuneOptions& options) {
  if (simulator::launcher_of_environment().present) {
    throw ConfigError("",
                      "tune is one process, whose threads are the ranks; start it without mpirun or srun");
  }
  const simulator::TuneRequest request{
      .config = load_config(options), .overrides = options.overrides, .seconds = options.seconds};
  const storage::SteadyClock clock;
  simulator::TuneProgress progress(progress_style(options.progress), stderr, clock, options.seconds);
  simulator::Interruption interruption;
  const SignalWatch signals(interruption);
  const simulator::TuneResult result = simulator::tune(request, clock, progress, interruption);
  print(options.format.json ? simulator::tune_json(result)
                            : simulator::tune_report(result, options.format.table()));
}

}  // namespace

void add_tune_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command =
      app.add_subcommand("tune", "Tries settings of a run on the target and prints the best as JSON");
  command->footer(
      "Examples:\n"
      "  ckptsim tune llama3.1-405b-tp4pp2 --target /mnt/nvme0\n"
      "  ckptsim tune my-run.json --target /mnt/nvme0 --set storage.queue_depth=8 --seconds 120 --json\n\n"
      "It writes small checkpoints of the run's ranks under TARGET/ckptsim/tune and removes them again. A "
      "key\n"
      "that --set gives stays as it is; --set scale=F also fixes what is written. docs/tuning.md says more.");
  command->add_option("CONFIG", options->config, "A run's JSON file, or the name of a shipped run")
      ->required();
  command
      ->add_option("--target", options->targets,
                   "A folder on the drive to tune for; repeat for several, as for run")
      ->allow_extra_args(false);
  command->add_option("--seconds", options->seconds, "How long to try")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  command->add_option("--set", options->overrides, "KEY=VALUE: fixes one key of the configuration")
      ->allow_extra_args(false);
  add_progress(*command, options->progress);
  add_output_format(*command, options->format);
  command->callback([options, &exit_code] {
    tune_and_print(*options);
    exit_code = 0;
  });
}

}  // namespace ckptsim::cli
