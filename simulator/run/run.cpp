#include "simulator/run/run.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "simulator/engine/failure.h"
#include "simulator/run/hang_guard.h"
#include "simulator/run/passes.h"
#include "simulator/run/run_setup.h"

namespace ckptsim::simulator {
namespace {

class Run {
 public:
  Run(Communicator& communicator, const RunRequest& request, Journal& journal, Progress& progress,
      Interruption& interruption)
      : communicator_(communicator),
        request_(request),
        journal_(journal),
        progress_(progress),
        interruption_(interruption),
        setup_(communicator, request_.config, clock_, result_) {
    result_.command = request.command;
    result_.config = request.config;
  }

  RunResult execute() {
    setup_.plan_and_place();
    setup_.prepare_targets(!request_.dry_run);
    if (request_.dry_run) {
      result_.status = "dry-run";
      return std::move(result_);
    }
    setup_.open_targets();
    stop_where_asked(communicator_, interruption_);
    on_process_0([&] {
      const HangGuard guard(stall_limit(request_.config), "making the folder for the result");
      journal_.begin(result_);
    });
    try {
      remove_earlier_run();
      passes_ = std::make_unique<Passes>(communicator_, request_, setup_.means(), journal_, progress_,
                                         interruption_, clock_, result_);
      passes_->write_all();
      result_.status = "complete";
    } catch (const RunFailure& failure) {
      result_.status = failure.code() == ExitCode::kInterrupted ? "interrupted" : "failed";
      result_.failure = failure.what();
      end_failed(failure);
      throw;
    }
    on_process_0([&] {
      const HangGuard guard(stall_limit(request_.config), "writing result.json");
      journal_.end(result_);
    });
    progress_.end_run();
    return std::move(result_);
  }

  [[nodiscard]] bool left_threads_behind() const {
    return passes_ != nullptr && passes_->left_threads_behind();
  }

 private:
  template <typename Work>
  void on_process_0(Work&& work) {
    together(communicator_, ExitCode::kInputOutput, [&] {
      if (communicator_.process() == 0) work();
    });
  }

  // The failure is agreed on already; that its result could not be stored either is process 0's to add.
  void end_failed(const RunFailure& failure) {
    if (communicator_.process() != 0) return;
    try {
      const HangGuard guard(stall_limit(request_.config),
                            fmt::format("writing result.json after a failure, {}", failure.what()));
      journal_.end(result_);
    } catch (const std::system_error& error) {
      throw RunFailure(failure.code(), fmt::format("{}; and result.json could not be written: {}",
                                                   failure.what(), error.what()));
    }
    if (failure.code() == ExitCode::kInterrupted) throw RunFailure(failure.code(), how_to_go_on());
  }

  [[nodiscard]] std::string how_to_go_on() const {
    if (journal_.place().empty()) return result_.failure;
    std::size_t kept = 0;
    for (const PassResult& pass : result_.passes)
      kept += pass.checkpoints.size();
    return fmt::format("{}; {} finished checkpoint{} kept in {}; go on with the same command and --resume {}",
                       result_.failure, kept, kept == 1 ? " is" : "s are", journal_.place(),
                       journal_.place());
  }

  void remove_earlier_run() {
    Workspace* workspace = setup_.means().workspace.get();
    if (workspace == nullptr) return;
    workspace->remove_earlier_run();
    result_.environment.targets = workspace->environment();
  }

  Communicator& communicator_;
  const RunRequest request_;  // its own: a rank that was given up may still read it
  Journal& journal_;
  Progress& progress_;
  Interruption& interruption_;
  storage::SteadyClock clock_;
  RunResult result_;
  RunSetup setup_;
  std::unique_ptr<Passes> passes_;
};

}  // namespace

RunResult run(Communicator& communicator, const RunRequest& request, Journal& journal, Progress& progress,
              Interruption& interruption) {
  auto run = std::make_unique<Run>(communicator, request, journal, progress, interruption);
  try {
    return run->execute();
  } catch (const RunFailure& failure) {
    if (!run->left_threads_behind()) throw;
    // Never destroyed: threads that are stuck in the kernel still use it, should they ever wake up.
    (void)run.release();
    const bool abort = failure.leaving() == Leaving::kAbort;
    throw RunFailure(failure.code(), failure.what(), abort ? Leaving::kAbort : Leaving::kAtOnce);
  }
}

}  // namespace ckptsim::simulator
