#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <string>

#include "simulator/communicator/communicator.h"
#include "simulator/report/progress_line.h"
#include "simulator/report/table.h"

namespace ckptsim::cli {

// Each command adds itself to the application and leaves its exit code in `exit_code` when it has been
// called.
void add_run_command(CLI::App& app, int& exit_code);
void add_plan_command(CLI::App& app, int& exit_code);
void add_inspect_command(CLI::App& app, int& exit_code);
void add_tune_command(CLI::App& app, int& exit_code);
void add_clean_command(CLI::App& app, int& exit_code);
void add_verify_command(CLI::App& app, int& exit_code);

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

// --progress auto|plain|none, --no-progress.
struct ProgressOptions {
  std::string style = "auto";
  bool none = false;
};
void add_progress(CLI::App& command, ProgressOptions& progress);

// On one process of those that a launcher started; none on the others.
[[nodiscard]] simulator::ProgressStyle progress_style(const ProgressOptions& progress);

// After an error that the processes have not agreed on: the others may wait in a collective for ever, and
// leaving without MPI_Finalize makes the launcher end them.
[[noreturn]] void leave_unagreed(const simulator::Communicator& communicator, const std::exception& error);

// Writes to stdout, on one process of those that a launcher started. Throws std::system_error where stdout
// takes less than all of it: a table on a full disk is no success.
void print(const std::string& text);

// The command line as typed, for the result.
void remember_command_line(int argc, char** argv);
[[nodiscard]] const std::string& command_line();

}  // namespace ckptsim::cli
