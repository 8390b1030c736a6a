#include "simulator/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/engine/failure.h"
#include "simulator/run/hang_guard.h"
#include "simulator/run/passes.h"
#include "simulator/run/resume.h"
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
        setup_(communicator, request_.config, request_.resume.has_value() ? &*request_.resume : nullptr,
               interruption, clock_, result_) {
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
    Start start;
    if (request_.resume.has_value()) start = take_up(*request_.resume);
    on_process_0([&] {
      const HangGuard guard(hang_limit(communicator_, stall_limit(request_.config)),
                            "making the folder for the result");
      journal_.begin(result_);
    });
    try {
      make_ready(start);
      passes_ = std::make_unique<Passes>(communicator_, request_, setup_.means(), journal_, progress_,
                                         interruption_, clock_, result_);
      passes_->write_from(start.ordinal, start.redone, start.loaded);
      result_.status = "complete";
    } catch (const RunFailure& failure) {
      result_.status = failure.code() == ExitCode::kInterrupted ? "interrupted" : "failed";
      result_.failure = failure.what();
      end_failed(failure);
      throw;
    }
    on_process_0([&] {
      const HangGuard guard(hang_limit(communicator_, stall_limit(request_.config)), "writing result.json");
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
      const HangGuard guard(hang_limit(communicator_, stall_limit(request_.config)),
                            fmt::format("writing result.json after a failure, {}", failure.what()));
      journal_.end(result_);
    } catch (const std::system_error& error) {
      throw RunFailure(
          failure.code(),
          fmt::format("{}; and result.json could not be written: {}", failure.what(), error.what()),
          failure.leaving());
    }
    if (journal_.place().empty()) return;
    throw RunFailure(failure.code(), with_way_on(failure.what(), journal_.place()), failure.leaving());
  }

  // Which checkpoint is the first to be written, and what goes before it.
  struct Start {
    std::uint64_t ordinal = 0;
    std::uint64_t loaded = 0;
    bool removes_run = true;
    std::optional<std::int64_t> removes_checkpoint;
    bool redone = false;
  };

  // Nothing is changed yet. Process 0 has the result as the journal has it, and one resume more.
  [[nodiscard]] Start take_up(const Resume& resume) {
    together(communicator_, ExitCode::kUsage, [&] {
      if (resume.earlier.has_value()) require_same_choices(*resume.earlier, result_);
    });
    const ResumePlan plan = plan_resume(resume, request_.config.checkpoint);
    Start start{.ordinal = resume.finished, .loaded = resume.loaded, .removes_run = plan.is_new};
    if (Workspace* workspace = setup_.means().workspace.get(); workspace != nullptr) {
      require_present(*workspace, request_.config, plan);
      start.redone = is_redone(communicator_, *workspace, request_.config, plan);
      // Not `next`, which may be to be read first.
      const Position unwritten =
          position_of(resume.finished, request_.config.checkpoint, resume.checkpoints_per_pass);
      if (plan.removes_files) start.removes_checkpoint = unwritten.checkpoint;
    }
    if (resume.earlier.has_value()) {
      go_on_from(*resume.earlier, plan);
    } else {
      result_.passes = passes_of(resume);
    }
    return start;
  }

  // The passes so far, without figures, for processes that do not have them.
  [[nodiscard]] std::vector<PassResult> passes_of(const Resume& resume) const {
    std::vector<PassResult> passes;
    for (std::uint64_t ordinal = 0; ordinal < resume.finished; ++ordinal) {
      const auto [pass, warmup, checkpoint] =
          position_of(ordinal, request_.config.checkpoint, resume.checkpoints_per_pass);
      if (checkpoint == 1) passes.push_back({.pass = pass, .warmup = warmup});
      passes.back().checkpoints.push_back({.pass = pass, .warmup = warmup, .checkpoint = checkpoint});
    }
    return passes;
  }

  void go_on_from(const RunResult& earlier, const ResumePlan& plan) {
    const ResumeRecord record{.started_utc = result_.started_utc,
                              .pass = plan.next.pass,
                              .warmup = plan.next.warmup,
                              .checkpoint = plan.next.checkpoint,
                              .processes = communicator_.processes(),
                              .hosts = result_.environment.hosts};
    RunPlan files = std::move(result_.plan);
    if (plan.is_new) {  // the conditions are those of now
      result_.started_utc = earlier.started_utc;
      result_.command = earlier.command;
      result_.resumes = earlier.resumes;
    } else {
      result_ = earlier;
    }
    result_.plan = std::move(files);
    result_.resumes.push_back(record);
  }

  void make_ready(const Start& start) {
    Workspace* workspace = setup_.means().workspace.get();
    if (workspace == nullptr) return;
    if (start.removes_checkpoint.has_value())
      workspace->remove_checkpoint(*start.removes_checkpoint, interruption_);
    if (!start.removes_run) return;
    const auto& targets = workspace->environment();
    if (std::any_of(targets.begin(), targets.end(),
                    [](const auto& target) { return target.earlier_bytes > 0; }))
      progress_.begin_removal("the earlier run");
    workspace->remove_earlier_run(interruption_);
    result_.environment.targets = workspace->environment();
    on_process_0([&] {
      const HangGuard guard(hang_limit(communicator_, stall_limit(request_.config)), "writing the journal");
      journal_.removed(result_);
    });
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

std::string with_way_on(const std::string& sentence, const std::string& place) {
  return fmt::format("{}; what was finished is kept in {}; go on with the same command and --resume {}",
                     sentence, place, place);
}

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
