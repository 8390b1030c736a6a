#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "simulator/communicator/communicator.h"
#include "simulator/run/checkpoint_runner.h"
#include "simulator/run/progress.h"
#include "simulator/run/result.h"
#include "simulator/run/run.h"
#include "simulator/run/run_setup.h"
#include "storage/clock.h"

namespace ckptsim::simulator {

// The passes of a run, checkpoint by checkpoint, into its result and journal.
class Passes {
 public:
  // Collective. All references outlive this.
  Passes(Communicator& communicator, const RunRequest& request, RunMeans& means, Journal& journal,
         Progress& progress, Interruption& interruption, const storage::Clock& clock, RunResult& result);

  // Collective. Throws RunFailure alike on all processes; what was finished before stands in the result.
  void write_all();

  // After a failure: threads still use this and all that it refers to, see CheckpointRunner.
  [[nodiscard]] bool left_threads_behind() const { return runner_.left_threads_behind(); }

 private:
  void one_pass(std::int64_t number, bool warmup);
  void keep(PassResult& pass);
  void load_checkpoint(PassResult& pass, std::size_t index, std::uint64_t ordinal);
  [[nodiscard]] storage::OpenMode open_mode(bool first_pass) const;
  [[nodiscard]] Sink sink() const;
  void delete_checkpoints(PassResult& pass);
  [[nodiscard]] CheckpointResult save_checkpoint(std::int64_t pass, bool warmup, std::int64_t checkpoint,
                                                 storage::OpenMode open_mode);
  [[nodiscard]] std::map<long, std::string> make_folders(std::int64_t checkpoint);
  void publish_manifests(CheckpointResult& result, std::uint64_t content_pass);
  [[nodiscard]] std::int64_t pause();
  [[nodiscard]] std::chrono::nanoseconds stall_limit_alone() const;

  Communicator& communicator_;
  const RunConfig& config_;
  bool profile_;
  RunMeans& means_;
  Workspace* workspace_;  // null with the backend null
  Journal& journal_;
  Progress& progress_;
  Interruption& interruption_;
  const storage::Clock& clock_;
  RunResult& result_;
  CheckpointRunner runner_;
  std::uint64_t ordinal_ = 0;  // of the next checkpoint, over the whole run
};

}  // namespace ckptsim::simulator
