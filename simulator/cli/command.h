#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "simulator/report/table.h"

namespace ckptsim::cli {

// Each command adds itself to the application and leaves its exit code in `exit_code` when it has been
// called.
void add_run_command(CLI::App& app, int& exit_code);
void add_plan_command(CLI::App& app, int& exit_code);
void add_inspect_command(CLI::App& app, int& exit_code);
void add_tune_command(CLI::App& app, int& exit_code);
void add_clean_command(CLI::App& app, int& exit_code);

// --json, --csv, --markdown: at most one.
struct OutputFormat {
  bool json = false;
  bool csv = false;
  bool markdown = false;

  [[nodiscard]] simulator::TableFormat table() const {
    if (csv) return simulator::TableFormat::kCsv;
    return markdown ? simulator::TableFormat::kMarkdown : simulator::TableFormat::kText;
  }
};
void add_output_format(CLI::App& command, OutputFormat& format);

// Writes to stdout, on one process of those that a launcher started. Throws std::system_error where stdout
// takes less than all of it: a table on a full disk is no success.
void print(const std::string& text);

// The command line as typed, for the result.
void remember_command_line(int argc, char** argv);
[[nodiscard]] const std::string& command_line();

}  // namespace ckptsim::cli
