#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "models/errors.h"
#include "simulator/cli/command.h"
#include "simulator/communicator/communicator.h"
#include "simulator/report/clean_report.h"
#include "storage/errors.h"
#include "storage/target/cleaning.h"
#include "storage/target/directory_survey.h"

namespace ckptsim::cli {
namespace {

struct CleanOptions {
  std::string folder;
  std::optional<std::string> run;  // an empty name is none, and not all runs
  bool dry_run = false;
  OutputFormat format;
};

storage::CleaningScope scope_of(const CleanOptions& options) {
  storage::CleaningScope scope = storage::cleaning_scope(options.folder);
  if (!options.run.has_value()) return scope;
  if (!scope.run.empty()) {
    throw ConfigError("",
                      fmt::format("{} is a run's folder or a checkpoint already; --run goes with a target",
                                  options.folder));
  }
  if (!storage::is_run_name(*options.run)) {
    throw ConfigError(
        "", fmt::format("--run \"{}\": no run has such a name; no slash, no leading dot", *options.run));
  }
  scope.run = *options.run;
  return scope;
}

// What this user may not do to a target is the target's unsuitability, and not an error of its drive.
[[noreturn]] void rethrow(const std::system_error& error) {
  const int code = error.code().value();
  if (code == EROFS) throw storage::UnsuitableTarget(fmt::format("{}; it cannot be cleaned", error.what()));
  if (code != EACCES && code != EPERM) throw;
  throw storage::UnsuitableTarget(
      fmt::format("{}; clean as the user whose runs these are, or as root", error.what()));
}

storage::Cleaning cleaned(const simulator::CleanReport& report) {
  try {
    return report.dry_run ? storage::survey_cleaning(report.scope) : storage::clean(report.scope);
  } catch (const std::system_error& error) {
    rethrow(error);
  }
}

void clean_and_print(const CleanOptions& options) {
  if (simulator::launcher_of_environment().present) {
    throw ConfigError("",
                      "clean is one process; start it without mpirun or srun, on each host whose targets are "
                      "its own");
  }
  simulator::CleanReport report{.scope = scope_of(options), .cleaning = {}, .dry_run = options.dry_run};
  report.cleaning = cleaned(report);
  print(options.format.json ? simulator::clean_json(report)
                            : simulator::clean_report(report, options.format.table()));
}

}  // namespace

void add_clean_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CleanOptions>();
  CLI::App* command =
      app.add_subcommand("clean", "Removes exactly what runs made on a target, and nothing else");
  command->footer(
      "Examples:\n"
      "  ckptsim clean /mnt/nvme0 --dry-run                         what there is of runs\n"
      "  ckptsim clean /mnt/nvme0                                   all runs, and /mnt/nvme0/ckptsim itself\n"
      "  ckptsim clean /mnt/nvme0 --run llama3.1-405b-tp4pp2        one run\n"
      "  ckptsim clean /mnt/nvme0/ckptsim/my-run/checkpoint_02      one checkpoint\n\n"
      "Names and kinds decide: where anything is found that this program did not make, it is named and\n"
      "nothing is removed. The exit code is then 3, as it is while a run holds the target (for a dry run,\n"
      "too), where there is no run of that name, and where this user may not remove what is there. A clean\n"
      "that was interrupted is finished by the next one.");
  command
      ->add_option("DIR", options->folder, "A target, its ckptsim/ folder, a run's folder or a checkpoint's")
      ->required();
  command->add_option("--run", options->run, "Of a target, only the run of this name");
  command->add_flag("--dry-run", options->dry_run, "Lists what would go, and touches nothing");
  add_output_format(*command, options->format);
  command->callback([options, &exit_code] {
    clean_and_print(*options);
    exit_code = 0;
  });
}

}  // namespace ckptsim::cli
