#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/report/table.h"
#include "simulator/run/result.h"

namespace ckptsim::simulator {

// A checkpoint that was read back a row: what that took, on which rank, and how its time divides. Without
// rows where none was.
[[nodiscard]] Table load_table(const RunResult& run);

// What stands under the tables about loads: whose files were read and past which cache; empty without loads.
[[nodiscard]] std::string load_conditions(const RunResult& run);

// The columns of checkpoints.csv about the load, and their cells, empty for a checkpoint that was not read
// back. The phases are those of the rank that decided the duration.
[[nodiscard]] std::vector<std::string> load_columns();
[[nodiscard]] std::vector<std::string> load_cells(const std::optional<LoadResult>& load);

}  // namespace ckptsim::simulator
