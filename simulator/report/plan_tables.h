#pragma once

#include <string>

#include "simulator/report/table.h"
#include "simulator/run/result.h"

namespace ckptsim::simulator {

// A row a rank: where it stands and what it writes.
[[nodiscard]] Table rank_table(const RunPlan& plan);

// A row a drive capacity: the checkpoints that a pass holds at checkpoint.fill_fraction.
[[nodiscard]] Table capacity_table(const RunConfig& config, const RunPlan& plan);

// Headline, totals and both tables, for a person. The rank table is folded where ranks repeat.
[[nodiscard]] std::string plan_report(const RunConfig& config, const RunPlan& plan, TableFormat format);

// What `run --dry-run` says: the plan, the targets with their room, and the backend that would be used.
[[nodiscard]] std::string dry_run_report(const RunResult& run, TableFormat format);

}  // namespace ckptsim::simulator
