#pragma once

#include <string>

#include "simulator/communicator/communicator.h"
#include "simulator/config/run_config.h"
#include "simulator/report/result_folder.h"
#include "simulator/run/result.h"
#include "simulator/run/resume.h"

namespace ckptsim::cli {

// Collective: what is left to be done of the run whose result is in the folder `resumed`. Process 0 takes
// that up in `folder` and knows more. Throws RunFailure alike on all processes where there is no journal, or
// one of another configuration or version.
[[nodiscard]] simulator::Resume take_up(simulator::Communicator& communicator, const std::string& resumed,
                                        const simulator::RunConfig& config, simulator::ResultFolder& folder);

// On process 0: the result of a run whose journal is complete, as that journal has it. It is stored where a
// result.json that says the same is not there.
[[nodiscard]] simulator::RunResult finished_result(const simulator::Resume& resume,
                                                   simulator::ResultFolder& folder);

}  // namespace ckptsim::cli
