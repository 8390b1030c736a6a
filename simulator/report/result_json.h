#pragma once

#include <cstdint>
#include <string>

#include "simulator/run/result.h"

namespace ckptsim::simulator {

// result.json, schema ckptsim.result/1 (configs/schema/result.schema.json): indented, with a newline at the
// end.
[[nodiscard]] std::string result_json(const RunResult& run);

// One line of the journal, without its newline: the header with the effective configuration, a finished
// checkpoint, and a finished load.
[[nodiscard]] std::string journal_header(const RunResult& run);
[[nodiscard]] std::string journal_checkpoint(const CheckpointResult& checkpoint);
[[nodiscard]] std::string journal_load(std::int64_t pass, bool warmup, std::int64_t checkpoint,
                                       const LoadResult& load);

// `plan CONFIG --json`: parameters, checkpoint_bytes (payload), files, ranks.
[[nodiscard]] std::string plan_json(const RunConfig& config, const RunPlan& plan);

}  // namespace ckptsim::simulator
