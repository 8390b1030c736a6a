#pragma once

#include <string>

#include "simulator/report/table.h"
#include "simulator/tune/tune.h"

namespace ckptsim::simulator {

// What was tried, in the order in which it was: a row for settings, a column for each that was varied.
[[nodiscard]] Table tried_table(const TuneResult& result);

// How sure the result is, in one sentence; a second one where settings were left out, a third where the host
// was the bound.
[[nodiscard]] std::string verdict_sentence(const TuneResult& result);

// Conditions, table, the best settings as JSON, and the verdict.
[[nodiscard]] std::string tune_report(const TuneResult& result, TableFormat format);

// The same as one JSON object: `best`, `tried`, and the conditions.
[[nodiscard]] std::string tune_json(const TuneResult& result);

}  // namespace ckptsim::simulator
