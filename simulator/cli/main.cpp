#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "models/errors.h"
#include "simulator/cli/command.h"
#include "simulator/communicator/communicator.h"
#include "simulator/engine/failure.h"
#include "simulator/report/version.h"
#include "storage/errors.h"
#include "storage/text/printable.h"

namespace {

using ckptsim::simulator::ExitCode;

// Under a launcher every process reads the same command line; one of them answers.
bool speaks() {
  return ckptsim::simulator::launcher_of_environment().process == 0;
}

// A message can hold names from a file that somebody sent.
int report(ExitCode code, const char* message) noexcept {
  try {
    if (speaks()) std::fprintf(stderr, "ckptsim: %s\n", ckptsim::storage::printable(message).c_str());
  } catch (const std::exception&) {
    std::fputs("ckptsim: out of memory\n", stderr);
  }
  return static_cast<int>(code);
}

// Of what was not expected the library's own sentence has the words in reverse.
std::string words_of(const CLI::ParseError& error, const CLI::App& app) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
  std::string words;
  for (const std::string& word : app.remaining(true))
    words += (words.empty() ? "" : " ") + word;
  return "not expected: " + words;
}

int parse_and_run(int argc, char** argv) {
  // A file past the limit on file sizes is an error of that write, with its place, and not the end of the
  // process.
  std::signal(SIGXFSZ, SIG_IGN);
  ckptsim::cli::remember_command_line(argc, argv);
  CLI::App app("ckptsim: how long does a training checkpoint take on this drive, and does it stay that way?",
               "ckptsim");
  app.set_version_flag("--version", std::string("ckptsim ") + ckptsim::simulator::version());
  app.require_subcommand(1);
  app.footer(
      "Example:\n  mpirun -np 8 ckptsim run llama3.1-405b-tp4pp2 --target /mnt/nvme0\n\n"
      "Exit codes: 0 done; 2 usage or configuration; 3 target unsuitable, or nothing to verify; 4 I/O "
      "error;\n"
      "5 a file is not what it should be; 130 interrupted.");
  int exit_code = 0;
  ckptsim::cli::add_run_command(app, exit_code);
  ckptsim::cli::add_plan_command(app, exit_code);
  ckptsim::cli::add_inspect_command(app, exit_code);
  ckptsim::cli::add_tune_command(app, exit_code);
  ckptsim::cli::add_clean_command(app, exit_code);
  ckptsim::cli::add_verify_command(app, exit_code);
  const auto is_named = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty()) {
    return report(ExitCode::kUsage,
                  (std::string(argv[1]) + " is not a command of this version; there are run, plan, "
                                          "inspect, tune, verify and clean")
                      .c_str());
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    if (speaks()) app.exit(success);
    return 0;
  } catch (const CLI::ParseError& error) {
    const std::string command = argc > 1 && argv[1][0] != '-' ? std::string(argv[1]) + " " : "";
    return report(ExitCode::kUsage, (words_of(error, app) + "; see ckptsim " + command + "--help").c_str());
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const ckptsim::simulator::RunFailure& failure) {
    const int code = report(failure.code(), failure.what());
    if (failure.leaving() != ckptsim::simulator::Leaving::kNormally) std::_Exit(code);
    return code;
  } catch (const ckptsim::ConfigError& error) {
    return report(ExitCode::kUsage, error.what());
  } catch (const ckptsim::storage::UnsuitableTarget& error) {
    return report(ExitCode::kUnsuitable, error.what());
  } catch (const ckptsim::storage::FormatError& error) {
    return report(ExitCode::kVerification, error.what());
  } catch (const std::exception& error) {
    return report(ExitCode::kInputOutput, error.what());
  }
}
