#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "simulator/cli/command.h"
#include "simulator/cli/resume_run.h"
#include "simulator/cli/signal_watch.h"
#include "simulator/communicator/communicator.h"
#include "simulator/config/run_config.h"
#include "simulator/engine/failure.h"
#include "simulator/report/plan_tables.h"
#include "simulator/report/progress_line.h"
#include "simulator/report/result_folder.h"
#include "simulator/report/result_json.h"
#include "simulator/report/run_tables.h"
#include "simulator/run/run.h"
#include "simulator/run/started_thread.h"
#include "storage/text/printable.h"

namespace ckptsim::cli {
namespace {

using simulator::ExitCode;

struct RunOptions {
  std::string config;
  std::vector<std::string> targets;
  struct Setting {
    std::string key;
    std::string value;
    std::string option;  // that stands for the key
  };
  std::vector<Setting> settings;
  std::vector<std::string> overrides;
  std::string output = "results";
  std::string resume;
  ProgressOptions progress;
  bool dry_run = false;
  bool profile = false;
  OutputFormat format;
};

// --scale 0.1 --set scale=0.2: nobody could say which was meant.
void refuse_second_value(const std::vector<std::string>& overrides, const std::string& key) {
  for (const std::string& override_text : overrides) {
    if (override_text.substr(0, override_text.find('=')) != key) continue;
    throw ConfigError("", fmt::format("--set {}: {} is given by an option of its own as well; give it once",
                                      override_text, key));
  }
}

// A value is refused as one of --set, which options are turned into; who gave --passes is told of --passes.
[[noreturn]] void refuse_as_given(const RunOptions& options, const ConfigError& error) {
  const std::string words = error.what();
  for (const auto& [key, value, option] : options.settings) {
    const std::string beginning = fmt::format("--set: {} ", key);
    if (!words.starts_with(beginning)) continue;
    throw ConfigError(error.pointer(), fmt::format("{}: {} {}", option, key, words.substr(beginning.size())));
  }
  throw error;
}

simulator::RunConfig load_config(const RunOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  for (const auto& [key, value, option] : options.settings) {
    refuse_second_value(options.overrides, key);
    overrides.push_back(fmt::format("{}={}", key, value));
  }
  if (!options.targets.empty()) refuse_second_value(options.overrides, "storage.targets");
  simulator::RunConfig config;
  try {
    config = simulator::load_run_config(options.config, overrides);
  } catch (const ConfigError& error) {
    refuse_as_given(options, error);
  }
  if (!options.targets.empty()) config.storage.targets = options.targets;
  return config;
}

// Process 0 reads the configuration, so that no other host needs the file and all have the same.
simulator::RunConfig shared_config(simulator::Communicator& communicator, const RunOptions& options) {
  std::string text;
  simulator::together(communicator, ExitCode::kUsage, [&] {
    if (communicator.process() == 0) text = simulator::effective_config(load_config(options));
  });
  return simulator::parse_run_config(communicator.broadcast(text), "the configuration of process 0", {});
}

void print_result(const simulator::RunResult& result, const RunOptions& options, const std::string& folder) {
  std::string text;
  if (options.format.json) {
    text = simulator::result_json(result);
  } else if (options.dry_run) {
    text = simulator::dry_run_report(result, options.format.table());
  } else if (options.format.csv) {
    text = simulator::checkpoints_csv(result);
  } else {
    text = simulator::run_report(result, options.format.table()) + "\nResult: " + folder + "\n";
  }
  print(text);
}

// On process 0, beside everything else: a run that is asked to end has its result at once, and says so,
// whatever its main thread waits for. mpirun kills within a second.
class ResultKeeper {
 public:
  // `said`: set, before this is destroyed, once the interruption's message is out. All outlive this.
  ResultKeeper(simulator::ResultFolder& folder, simulator::Interruption& interruption,
               const simulator::ProgressLine& progress, bool& said)
      : thread_(simulator::started_thread(
            "to keep the result", [&folder, &interruption, &progress, &said](const std::stop_token& stop) {
              if (!interruption.wait(stop)) return;
              try {
                const std::string words = simulator::interruption_words(interruption.signal());
                if (!folder.interrupted(words)) return;  // the main thread comes to it by itself
                say(simulator::with_way_on(words, folder.path().string()), progress.line_start());
                said = true;
              } catch (const std::exception& error) {
                say(error.what(), progress.line_start());
              }
            })) {}

 private:
  static void say(const std::string& sentence, const char* line_start) {
    fmt::print(stderr, "{}ckptsim: {}\n", line_start, storage::printable(sentence));
  }

  std::jthread thread_;
};

// For who reads stdout: as far as it came.
void print_interrupted(const RunOptions& options, const std::filesystem::path& folder) {
  if (!options.format.json || folder.empty()) return;
  std::ifstream file(folder / "result.json");
  if (file) print(std::string(std::istreambuf_iterator<char>(file), {}));
}

// `said`: whether the message of an interruption is out when this throws.
int run_on(simulator::Communicator& communicator, const RunOptions& options,
           simulator::Interruption& interruption, bool& said) {
  simulator::RunRequest request{.config = shared_config(communicator, options),
                                .command = command_line(),
                                .dry_run = options.dry_run,
                                .profile = options.profile};
  const storage::SteadyClock clock;
  simulator::ProgressLine progress(progress_style(options.progress), stderr, clock);
  simulator::ResultFolder folder(options.output);
  if (!options.resume.empty()) {
    request.resume = take_up(communicator, options.resume, request.config, folder);
    const simulator::Resume& resume = *request.resume;
    if (simulator::is_complete(resume, request.config.checkpoint)) {
      simulator::together(communicator, ExitCode::kInputOutput, [&] {
        if (communicator.process() != 0) return;
        fmt::print(stderr, "ckptsim: {}: the run is complete, nothing is left to do\n",
                   folder.path().string());
        print_result(finished_result(resume, folder), options, folder.path().string());
      });
      return static_cast<int>(ExitCode::kDone);
    }
  }
  std::optional<ResultKeeper> keeper;
  if (communicator.process() == 0) keeper.emplace(folder, interruption, progress, said);
  simulator::RunResult result;
  try {
    result = simulator::run(communicator, request, folder, progress, interruption);
  } catch (const simulator::RunFailure& failure) {
    if (communicator.process() == 0 && failure.code() == ExitCode::kInterrupted)
      print_interrupted(options, folder.path());
    throw;
  }
  if (communicator.process() == 0) print_result(result, options, folder.path().string());
  return static_cast<int>(ExitCode::kDone);
}

// Says what happened, unless that was `said` before, and ends as the failure asks for.
int leave_after(const simulator::RunFailure& failure, std::unique_ptr<simulator::Communicator> communicator,
                bool said) {
  using simulator::Leaving;
  const auto code = static_cast<int>(failure.code());
  said = said && failure.code() == ExitCode::kInterrupted;
  if (!said && (communicator->process() == 0 || failure.leaving() == Leaving::kAbort))
    fmt::print(stderr, "ckptsim: {}\n", storage::printable(failure.what()));
  if (failure.leaving() == Leaving::kAbort) communicator->abort(code);
  communicator.reset();
  if (failure.leaving() == Leaving::kAtOnce) std::_Exit(code);
  return code;
}

int run_command(const RunOptions& options) {
  simulator::Interruption interruption;
  const SignalWatch signals(interruption);
  std::unique_ptr<simulator::Communicator> communicator = simulator::make_communicator();
  bool said = false;
  try {
    return run_on(*communicator, options, interruption, said);
  } catch (const simulator::RunFailure& failure) {
    return leave_after(failure, std::move(communicator), said);
  } catch (const std::exception& error) {
    if (communicator->processes() == 1) throw;
    leave_unagreed(*communicator, error);
  }
}

// An option that is another spelling of a configuration key.
void add_setting(CLI::App& command, const std::shared_ptr<RunOptions>& options, const std::string& option,
                 const std::string& key, const std::string& description) {
  command.add_option_function<std::string>(
      option,
      [options, key, option](const std::string& value) {
        options->settings.push_back({key, value, option});
      },
      fmt::format("{} ({})", description, key));
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Writes the checkpoints of a run and times them");
  command->footer(
      "Examples:\n"
      "  mpirun -np 8 --bind-to none ckptsim run llama3.1-405b-tp4pp2 --target /mnt/nvme0\n"
      "  ckptsim run llama3.1-405b-tp4pp2 --target /mnt/nvme0 --scale 0.001 --checkpoints-per-pass 2\n"
      "  ckptsim run llama3.1-405b-tp4pp2 --target /mnt/nvme0 --resume "
      "results/llama3.1-405b-tp4pp2-20261130T183750Z\n"
      "  ckptsim run llama3.1-405b-tp4pp2 --backend null --scale 0.01 --checkpoints-per-pass 1 --passes 1");
  command->add_option("CONFIG", options->config, "A run's JSON file, or the name of a shipped run")
      ->required();
  command
      ->add_option(
          "--target", options->targets,
          "A folder on the drive to measure; repeat for several (rank r of a host uses target r mod n)")
      ->allow_extra_args(false);
  add_setting(*command, options, "--scale", "scale", "Shrinks every shard to this fraction");
  add_setting(*command, options, "--passes", "checkpoint.passes", "Passes over the drive");
  add_setting(*command, options, "--checkpoints-per-pass", "checkpoint.checkpoints_per_pass",
              "Checkpoints in a pass, or auto: as many as the drive holds");
  add_setting(*command, options, "--backend", "storage.backend", "auto, io_uring, direct, buffered or null");
  add_setting(*command, options, "--serializer", "storage.serializer",
              "What makes the files: stream, or libtorch (torch's own code)");
  add_setting(*command, options, "--load", "checkpoint.load",
              "When checkpoints are read back: none, each (after each), end (those of the last pass)");
  command->add_option("--set", options->overrides, "KEY=VALUE: changes one key of the configuration")
      ->allow_extra_args(false);
  command->add_option("--output", options->output, "Where the result's folder is made")
      ->capture_default_str();
  CLI::Option* resume = command->add_option("--resume", options->resume,
                                            "Goes on with an interrupted run, whose result's folder this is, "
                                            "at its next checkpoint; CONFIG and the "
                                            "other options as for the run");
  CLI::Option* dry_run = command->add_flag(
      "--dry-run", options->dry_run,
      "Checks configuration, plan, targets and space, and says what would be done; writes nothing, so that "
      "direct I/O and memory on huge pages are not proved");
  resume->excludes(dry_run);
  command->add_flag(
      "--profile", options->profile,
      "Shows, by rank, how much of the time generation, CRCs, submission, waiting for the drive "
      "and fsync took");
  add_progress(*command, options->progress);
  add_output_format(*command, options->format);
  command->callback([options, &exit_code] { exit_code = run_command(*options); });
}

}  // namespace ckptsim::cli
