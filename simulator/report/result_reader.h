#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "simulator/run/result.h"

namespace ckptsim::simulator {

// Results and journals as files that anybody may have changed: nothing that they name is ever opened, and
// memory stays within a constant times the text. Both throw storage::FormatError, which begins with `origin`
// and names the line or the member, for whatever result_json() and the journal's lines could not have been.

// result.json, such that result_json() of what this returns is the same text again.
[[nodiscard]] RunResult read_result(const std::string& text, const std::string& origin);

struct JournalContents {
  RunResult run;                // without plan, status and failure
  std::size_t whole_bytes = 0;  // of the text: what follows is a torn last line
};

// journal.jsonl. Checkpoints stand in the order in which a run of that configuration writes them, each once.
[[nodiscard]] JournalContents read_journal(std::string_view text, const std::string& origin);

}  // namespace ckptsim::simulator
