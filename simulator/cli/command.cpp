#include "simulator/cli/command.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "simulator/communicator/communicator.h"

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
