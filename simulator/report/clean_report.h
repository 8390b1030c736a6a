#pragma once

#include <string>

#include "simulator/report/table.h"
#include "storage/target/cleaning.h"

namespace ckptsim::simulator {

// What `clean` removed, or with `dry_run` what it would.
struct CleanReport {
  storage::CleaningScope scope;
  storage::Cleaning cleaning;
  bool dry_run = false;
};

// A run a row.
[[nodiscard]] Table clean_table(const CleanReport& report);

// The table, where there is a row, and one sentence.
[[nodiscard]] std::string clean_report(const CleanReport& report, TableFormat format);

// The same as one JSON object.
[[nodiscard]] std::string clean_json(const CleanReport& report);

}  // namespace ckptsim::simulator
