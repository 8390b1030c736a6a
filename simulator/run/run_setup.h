#pragma once

#include <memory>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/run/backend_choice.h"
#include "simulator/run/interruption.h"
#include "simulator/run/loading.h"
#include "simulator/run/rank_layout.h"
#include "simulator/run/rank_worker.h"
#include "simulator/run/result.h"
#include "simulator/run/resume.h"
#include "simulator/run/workspace.h"
#include "storage/clock.h"
#include "storage/libtorch/load_module.h"

namespace ckptsim::simulator {

// What a run writes with, once configuration, processes and targets are known to go together.
struct RunMeans {
  BackendChoice choice;
  RankLayout layout;
  const storage::libtorch::Module* module = nullptr;  // LibTorch's writer, where it is asked for
  std::unique_ptr<Workspace> workspace;               // none with the backend null
  std::vector<std::unique_ptr<RankWorker>> workers;   // this process's ranks
  std::unique_ptr<Loading> loading;

  [[nodiscard]] bool writes_nothing() const { return choice.backend == storage::Backend::kNull; }
};

// Everything between a configuration and its first checkpoint, in three steps, each collective: what can be
// known without the targets, what can be known without making anything on them, and what is opened. Each
// throws RunFailure alike on all processes, and says in `result` what it found.
class RunSetup {
 public:
  // All references outlive this and the means. With `resume` (which may be null) the run's own files stay,
  // and a pass holds as many checkpoints as when it began.
  RunSetup(Communicator& communicator, const RunConfig& config, const Resume* resume,
           Interruption& interruption, const storage::Clock& clock, RunResult& result)
      : communicator_(communicator),
        config_(config),
        resume_(resume),
        interruption_(interruption),
        clock_(clock),
        result_(result) {}

  void plan_and_place();
  void prepare_targets(bool lock);  // makes nothing but the lock
  void open_targets();

  [[nodiscard]] RunMeans& means() { return means_; }

 private:
  void load_serializer();
  void check_settings_have_effect() const;
  void check_targets_are_used() const;
  void describe();
  [[nodiscard]] std::uint64_t open_files_needed() const;

  Communicator& communicator_;
  const RunConfig& config_;
  const Resume* resume_;
  Interruption& interruption_;
  const storage::Clock& clock_;
  RunResult& result_;
  RunMeans means_;
};

}  // namespace ckptsim::simulator
