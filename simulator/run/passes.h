#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "simulator/communicator/communicator.h"
#include "simulator/run/checkpoint_runner.h"
#include "simulator/run/position.h"
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

  // Collective: from checkpoint number `ordinal` (from 0, over the whole run) to the last. `redone`: the
  // first of them is written over what is left of an attempt at it. `loaded`: how many were read back
  // already, where checkpoints are. Throws RunFailure alike on all processes;
  // what was finished before stands in the result.
  void write_from(std::uint64_t ordinal, bool redone, std::uint64_t loaded);

  // After a failure: threads still use this and all that it refers to, see CheckpointRunner.
  [[nodiscard]] bool left_threads_behind() const { return runner_.left_threads_behind(); }

 private:
  class Unfinished;
  void write_next(bool redone);
  [[nodiscard]] PassResult& begin_pass(const Position& position);
  [[nodiscard]] bool in_first_pass() const;
  void keep(PassResult& pass);
  void load_last();
  void load_checkpoint(PassResult& pass, std::size_t index, std::uint64_t ordinal);
  [[nodiscard]] storage::OpenMode open_mode() const;
  [[nodiscard]] Sink sink() const;
  void delete_checkpoints(PassResult& pass);
  [[nodiscard]] CheckpointResult save_checkpoint(const Position& position);
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
