#pragma once

#include <string>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/run/result.h"

namespace ckptsim::simulator {

// Processors and memory nodes out of the text of /proc/PID/status; "unknown" where it does not name them.
[[nodiscard]] ProcessBinding parse_binding(const std::string& status);

// Collective: every process's binding, in order of processes, on every process.
[[nodiscard]] std::vector<ProcessBinding> gather_bindings(Communicator& communicator);

// For the report: where the processes of each host may run, in a sentence.
[[nodiscard]] std::string binding_words(const std::vector<ProcessBinding>& bindings);

}  // namespace ckptsim::simulator
