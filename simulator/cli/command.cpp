#include "simulator/cli/command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "simulator/cli/terminal.h"
#include "simulator/engine/failure.h"
#include "storage/text/printable.h"

namespace ckptsim::cli {
namespace {

std::string& remembered() {
  static std::string text;
  return text;
}

}  // namespace

void add_output_format(CLI::App& command, OutputFormat& format) {
  CLI::Option_group* group =
      command.add_option_group("Format on stdout", "Aligned text without one of these");
  group->add_flag("--json", format.json, "JSON");
  group->add_flag("--csv", format.csv, "Comma-separated values");
  group->add_flag("--markdown", format.markdown, "Markdown tables");
  group->require_option(0, 1);
}

void add_progress(CLI::App& command, ProgressOptions& progress) {
  command
      .add_option("--progress", progress.style,
                  "Progress on stderr: auto (a live line on a terminal), plain, none")
      ->check(CLI::IsMember({"auto", "plain", "none"}))
      ->capture_default_str();
  command.add_flag("--no-progress", progress.none, "The same as --progress none");
}

simulator::ProgressStyle progress_style(const ProgressOptions& progress) {
  using simulator::ProgressStyle;
  const bool speaks = simulator::launcher_of_environment().process == 0;
  if (progress.none || progress.style == "none" || !speaks) return ProgressStyle::kNone;
  if (progress.style == "plain") return ProgressStyle::kPlain;
  return stderr_reaches_a_terminal() ? ProgressStyle::kLine : ProgressStyle::kNone;
}

void leave_unagreed(const simulator::Communicator& communicator, const std::exception& error) {
  fmt::print(stderr, "ckptsim: process {} on {}: {}\n", communicator.process(), simulator::host_name(),
             storage::printable(error.what()));
  std::_Exit(static_cast<int>(simulator::ExitCode::kInputOutput));
}

void print(const std::string& text) {
  if (simulator::launcher_of_environment().process != 0) return;
  if (std::fputs(text.c_str(), stdout) == EOF || std::fflush(stdout) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
  }
}

void remember_command_line(int argc, char** argv) {
  for (int i = 0; i < argc; ++i)
    remembered() += (i == 0 ? "" : " ") + std::string(argv[i]);
}

const std::string& command_line() {
  return remembered();
}

}  // namespace ckptsim::cli
