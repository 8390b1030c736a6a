#pragma once

#include "simulator/run/result.h"

namespace ckptsim::fuzz {

// What a stored result is read for can be done with it: every report of it is made.
void require_reports(const simulator::RunResult& run);

}  // namespace ckptsim::fuzz
