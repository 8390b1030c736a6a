#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/run/position.h"
#include "simulator/run/result.h"
#include "simulator/run/workspace.h"

namespace ckptsim::simulator {

// An interrupted run that goes on: the same on every process, but for `earlier`.
struct Resume {
  std::uint64_t finished = 0;  // checkpoints in its journal, warm-ups included
  std::uint64_t loaded = 0;    // and how many of them have been read back
  std::int64_t checkpoints_per_pass = 0;
  std::string checkpoints_reason;
  std::optional<RunResult> earlier;  // what its journal holds; on process 0
};

// How it goes on.
struct ResumePlan {
  Position next;               // to be written, or read back
  bool is_new = false;         // nothing is finished: it begins as a new run does, which removes all there is
  bool removes_files = false;  // `next` meets new files: what an attempt at it left goes first
  // What stands in the folder of `next` as long as nobody has begun to write `next` there. Once its manifest
  // is gone, `next` is redone. None where `next` meets new files.
  std::optional<Position> replaces;
  std::vector<Position> present;  // finished checkpoints that nothing has replaced: they are on the targets
};

[[nodiscard]] bool is_complete(const Resume& resume, const CheckpointConfig& config);

// Pure. The run is not complete.
[[nodiscard]] ResumePlan plan_resume(const Resume& resume, const CheckpointConfig& config);

// Collective, under the lock. Throws RunFailure 3 naming the first of `plan.present` that is not on a target
// as the run left it: its manifest, of this run, pass, checkpoint and seed, and its files with their sizes.
void require_present(Workspace& workspace, const RunConfig& config, const ResumePlan& plan);

// Collective, under the lock: whether `next` is written over what an attempt at it left.
[[nodiscard]] bool is_redone(Communicator& communicator, Workspace& workspace, const RunConfig& config,
                             const ResumePlan& plan);

// Throws ConfigError where what was left to the program came out differently: "storage.backend ...".
void require_same_choices(const RunResult& earlier, const RunResult& now);

}  // namespace ckptsim::simulator
