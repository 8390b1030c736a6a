#pragma once

#include <string>

#include "simulator/report/table.h"
#include "simulator/run/result.h"

namespace ckptsim::simulator {

// A checkpoint a row: what it took, on which rank, and how its time divides.
[[nodiscard]] Table checkpoint_table(const RunResult& run);

// A row a rank and one for all: where the time of the measured checkpoints went, in per cent of the ranks'
// durations. Empty without a profile.
[[nodiscard]] Table profile_table(const RunResult& run);

// A pass a row: the average of its checkpoints and their spread.
[[nodiscard]] Table pass_table(const RunResult& run);

// One line: what was written and how. Names model, training state and layout, and says when the run was
// scaled.
[[nodiscard]] std::string headline(const RunConfig& config, const RunPlan& plan);

// A line for each target: where it is, on what, and how large.
[[nodiscard]] std::string target_lines(const Environment& environment);

// Sentences under the tables: backend, fsync, what bounded the checkpoints, flags.
[[nodiscard]] std::string conditions(const RunResult& run);

// Both tables with headline and conditions, for a person (text or Markdown).
[[nodiscard]] std::string run_report(const RunResult& run, TableFormat format);

}  // namespace ckptsim::simulator
