#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "simulator/cli/command.h"
#include "simulator/cli/signal_watch.h"
#include "simulator/communicator/communicator.h"
#include "simulator/engine/failure.h"
#include "simulator/report/progress_line.h"
#include "simulator/report/verify_report.h"
#include "simulator/verify/verify.h"
#include "storage/text/printable.h"

namespace ckptsim::cli {
namespace {

struct VerifyOptions {
  simulator::VerifyRequest request;
  std::size_t threads = 0;  // 0: as many as fit
  ProgressOptions progress;
  OutputFormat format;
};

// Alone a thread for each processor, under a launcher one in each of its processes.
std::size_t threads_of(const VerifyOptions& options, const simulator::Communicator& communicator) {
  if (options.threads > 0) return options.threads;
  return communicator.processes() > 1 ? 1 : std::max(1U, std::thread::hardware_concurrency());
}

void print_result(const simulator::VerifyResult& result, const VerifyOptions& options) {
  print(options.format.json ? simulator::verify_json(result)
                            : simulator::verify_report(result, options.format.table()));
  const std::string summary = simulator::verify_summary(result);
  if (!summary.empty()) fmt::print(stderr, "ckptsim: {}\n", storage::printable(summary));
}

// Process 0 knows the result; all processes end with its exit code.
int verify_on(simulator::Communicator& communicator, const VerifyOptions& options,
              simulator::Interruption& interruption) {
  simulator::VerifyRequest request = options.request;
  request.threads = threads_of(options, communicator);
  const storage::SteadyClock clock;
  simulator::ProgressLine progress(progress_style(options.progress), stderr, clock);
  const simulator::VerifyResult result = simulator::verify(communicator, request, progress, interruption);
  if (communicator.process() == 0) print_result(result, options);
  return std::stoi(communicator.broadcast(std::to_string(static_cast<int>(result.exit_code()))));
}

int verify_command(const VerifyOptions& options) {
  simulator::Interruption interruption;
  const SignalWatch signals(interruption);
  const std::unique_ptr<simulator::Communicator> communicator = simulator::make_communicator();
  try {
    return verify_on(*communicator, options, interruption);
  } catch (const simulator::RunFailure& failure) {
    if (communicator->process() == 0) fmt::print(stderr, "ckptsim: {}\n", storage::printable(failure.what()));
    return static_cast<int>(failure.code());
  } catch (const std::exception& error) {
    if (communicator->processes() == 1) throw;
    leave_unagreed(*communicator, error);
  }
}

}  // namespace

void add_verify_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand("verify", "Reads checkpoints back and proves every byte");
  command->footer(
      "Examples:\n"
      "  ckptsim verify /mnt/nvme0\n"
      "  ckptsim verify /mnt/nvme0/ckptsim/llama3.1-405b-tp4pp2/checkpoint_01 --json\n"
      "  mpirun -np 8 --bind-to none ckptsim verify /mnt/nvme0 /mnt/nvme1\n\n"
      "Every byte of every file is held against the one that was written, which the manifest's seed gives "
      "again.\n"
      "Nothing is written. A checkpoint on several targets is complete where all of them are named. "
      "Processes "
      "of\n"
      "several hosts must see the same folders; where each host has a target of its own, verify on each, "
      "with --parts.\n\n"
      "Exit codes: 0 every byte is right, of one complete checkpoint at least; 2 usage; 3 no complete "
      "checkpoint is\n"
      "there, or a run is at work; 4 some bytes cannot be read, and the others are right; 5 something is not "
      "as "
      "it\n"
      "was written (with --all: or is not there); 130 interrupted (a signal ends it within a block, a second "
      "one at once).");
  command
      ->add_option("DIR", options->request.folders,
                   "A target, its ckptsim/, a run in it or a checkpoint; several may be given")
      ->required();
  command->add_flag(
      "--all", options->request.all,
      "Exit code 5 also where a checkpoint is incomplete, or a part of one is not in the folders");
  CLI::Option* all = command->get_option("--all");
  command
      ->add_flag("--parts", options->request.parts,
                 "A checkpoint's part is enough: for hosts with targets of their own, each of which verifies "
                 "its own")
      ->excludes(all);
  command
      ->add_option("--threads", options->threads,
                   "Threads that read in each process (default: one for each processor; one under mpirun)")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--stall-seconds", options->request.stall_seconds,
                   "How long a drive may give no answer before verify ends with exit code 4; 0: for ever")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command
      ->add_option("--backend", options->request.backend,
                   "What reads: auto (past the page cache where the file system can, and it says so where it "
                   "cannot), io_uring, direct, buffered (through the page cache, which is dropped before)")
      ->check(CLI::IsMember({"auto", "io_uring", "direct", "buffered"}))
      ->capture_default_str();
  add_progress(*command, options->progress);
  add_output_format(*command, options->format);
  command->callback([options, &exit_code] { exit_code = verify_command(*options); });
}

}  // namespace ckptsim::cli
