// journal.jsonl, with which `run --resume` goes on and from which a result is made.
#include <string>
#include <string_view>

#include "simulator/report/result_json.h"
#include "simulator/report/result_reader.h"
#include "simulator/run/position.h"
#include "storage/errors.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/result_promises.h"

namespace ckptsim::fuzz {
namespace {

using simulator::CheckpointResult;
using simulator::PassResult;
using simulator::RunResult;

// The lines that a run writes that has done what this one did.
std::string journal_of(const RunResult& run) {
  std::string text = simulator::journal_header(run) + "\n";
  text += simulator::journal_removal(run.environment) + "\n";
  for (const PassResult& pass : run.passes) {
    text += simulator::journal_pass(pass) + "\n";
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      CheckpointResult saved = checkpoint;
      saved.load.reset();
      text += simulator::journal_checkpoint(saved) + "\n";
      if (!checkpoint.load.has_value()) continue;
      text += simulator::journal_load(pass.pass, pass.warmup, checkpoint.checkpoint, *checkpoint.load) + "\n";
    }
  }
  for (const simulator::ResumeRecord& resume : run.resumes)
    text += simulator::journal_resume(resume) + "\n";
  return text;
}

// Where a run that goes on begins: behind what is there, in the order in which it is written.
void require_order(const RunResult& run) {
  std::uint64_t ordinal = 0;
  for (const PassResult& pass : run.passes) {
    require(!pass.checkpoints.empty(), "a journal knows of a pass with its first checkpoint");
    bool unread = false;
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      require(
          simulator::Position{checkpoint.pass, checkpoint.warmup, checkpoint.checkpoint} ==
              simulator::position_of(ordinal++, run.config.checkpoint, run.effective.checkpoints_per_pass),
          "checkpoints stand in the order in which they are written");
      require(!unread || !checkpoint.load.has_value(), "checkpoints are read back in that order");
      unread = !checkpoint.load.has_value();
    }
  }
  require(ordinal <= simulator::checkpoints_of(run.config.checkpoint, run.effective.checkpoints_per_pass),
          "there are no more checkpoints than the run has");
}

std::string result_of(const std::string& journal) {
  try {
    return simulator::result_json(simulator::read_journal(journal, "written").run);
  } catch (const storage::FormatError&) {
    return {};
  }
}

}  // namespace

// The schemas are held besides the input.
const MemoryLimit kMemoryLimit = {64, 4 << 20};

bool check(std::span<const std::byte> input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  simulator::JournalContents contents;
  try {
    contents = simulator::read_journal(text, "journal.jsonl");
  } catch (const storage::FormatError& error) {
    require_short(error.what());
    return false;
  }
  require(contents.whole_bytes <= text.size() && text[contents.whole_bytes - 1] == '\n',
          "whole lines are kept");
  require_order(contents.run);
  const std::string result = simulator::result_json(contents.run);
  require(result_of(text.substr(0, contents.whole_bytes)) == result, "the torn line had no part in it");
  require(result_of(journal_of(contents.run)) == result, "what was read and written reads back to itself");
  require_reports(contents.run);
  return true;
}

}  // namespace ckptsim::fuzz
