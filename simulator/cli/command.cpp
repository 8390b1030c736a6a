#include "simulator/cli/command.h"

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

void remember_command_line(int argc, char** argv) {
  for (int i = 0; i < argc; ++i)
    remembered() += (i == 0 ? "" : " ") + std::string(argv[i]);
}

const std::string& command_line() {
  return remembered();
}

}  // namespace ckptsim::cli
