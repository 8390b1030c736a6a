#pragma once

#include <string>

#include "simulator/report/table.h"
#include "simulator/verify/verify.h"

namespace ckptsim::simulator {

// A line a checkpoint.
[[nodiscard]] Table verify_table(const VerifyResult& result);

// The table, and everything that is not as it should be, with at most `most` lines a checkpoint.
[[nodiscard]] std::string verify_report(const VerifyResult& result, TableFormat format,
                                        std::size_t most = 50);

// Everything, as JSON.
[[nodiscard]] std::string verify_json(const VerifyResult& result);

// One sentence for people; empty where all is well, and the report's last line says so.
[[nodiscard]] std::string verify_summary(const VerifyResult& result);

}  // namespace ckptsim::simulator
