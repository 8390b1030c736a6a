#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "simulator/communicator/communicator.h"
#include "simulator/run/interruption.h"
#include "simulator/run/progress.h"
#include "simulator/run/result.h"
#include "simulator/run/resume.h"

namespace ckptsim::simulator {

// Where process 0 keeps what has been measured, as soon as it has been. Implementations throw
// std::system_error.
class Journal {
 public:
  Journal() = default;
  virtual ~Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  virtual void begin(const RunResult& run) = 0;         // conditions are known, nothing is written yet
  virtual void removed(const RunResult& /*run*/) {}     // what an earlier run of that name left
  virtual void checkpoint(const PassResult& pass) = 0;  // its last one is new; durable when this returns
  virtual void load(std::int64_t pass, bool warmup, std::int64_t checkpoint,
                    const LoadResult& load) = 0;  // durable when it returns
  virtual void end(const RunResult& run) = 0;     // complete, interrupted or failed

  // What --resume takes; empty where a run cannot be resumed.
  [[nodiscard]] virtual std::string place() const { return {}; }
};

struct RunRequest {
  RunConfig config;
  std::string command;           // as typed, for the result
  bool dry_run = false;          // checks and plans, makes nothing
  bool profile = false;          // every rank measures what its time in `write` goes into
  std::optional<Resume> resume;  // an interrupted run of the same configuration goes on
};

// `sentence`, what it ended with, and after that where the finished checkpoints are kept, and that the run
// can go on from there.
[[nodiscard]] std::string with_way_on(const std::string& sentence, const std::string& place);

// Collective: the whole run on all processes. Returns the result on process 0 (elsewhere without
// measurements). Throws RunFailure alike on all processes; what was measured before a failure is in the
// journal by then. Once any process is asked to end, all stop writing, within a block, and RunFailure has
// ExitCode::kInterrupted.
[[nodiscard]] RunResult run(Communicator& communicator, const RunRequest& request, Journal& journal,
                            Progress& progress, Interruption& interruption);

}  // namespace ckptsim::simulator
