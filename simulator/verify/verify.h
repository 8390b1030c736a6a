#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/engine/failure.h"
#include "simulator/run/interruption.h"
#include "simulator/run/progress.h"
#include "simulator/verify/finding.h"

namespace ckptsim::simulator {

struct VerifyRequest {
  std::vector<std::string> folders;  // targets, or folders below them
  std::string backend = "auto";      // auto, io_uring, direct, buffered
  std::size_t threads = 1;           // of each process
  bool all = false;                  // incomplete checkpoints and missing parts are an error, too
  bool parts = false;                // parts are enough: other hosts have the others, and see to them
  double stall_seconds = 300;        // how long a drive may give no answer; 0: for ever
};

// One complete checkpoint, or one target's part of one.
struct VerifiedCheckpoint {
  std::string path;
  std::string name;  // the run's; empty where the manifest could not be taken
  std::int64_t pass = 0;
  bool warmup = false;
  std::int64_t checkpoint = 0;
  std::uint64_t part = 1;
  std::uint64_t parts = 1;
  bool complete = false;  // the manifests of all its parts are in the folders named
  std::uint64_t files = 0;
  std::uint64_t file_bytes = 0;  // as the manifest lists them
  // Where no manifest could be taken: files *.pt that lie there, and that nothing says anything of.
  std::uint64_t uncompared_files = 0;
  std::uint64_t uncompared_bytes = 0;
  double seconds = 0;
  std::string backend;         // what read the files
  std::string backend_reason;  // where that is not as asked
  // Whether the page cache was looked into to prove that direct reads go past it; see DirectReadFacts.
  bool page_cache_seen = true;
  // Of those read through it: what it still held after every file was to be dropped from it. Empty where the
  // kernel does not tell.
  std::optional<std::uint64_t> cached_bytes = 0;
  std::vector<Finding> findings;
  std::uint64_t more_ranges = 0;  // wrong, and not among the findings
  std::uint64_t wrong_files = 0;
  std::uint64_t wrong_bytes = 0;
  std::uint64_t unreadable_bytes = 0;

  [[nodiscard]] bool is_wrong() const;  // something is not as it should be
  [[nodiscard]] bool has_read_error() const;
};

// Of counts that may not be known: empty where one is.
[[nodiscard]] std::optional<std::uint64_t> sum_of_known(const std::optional<std::uint64_t>& left,
                                                        const std::optional<std::uint64_t>& right);

struct VerifyResult {
  std::vector<VerifiedCheckpoint> checkpoints;
  std::vector<std::string> incomplete;     // folders without a manifest: those checkpoints do not exist
  std::vector<std::string> missing_parts;  // a sentence for each checkpoint that lacks some
  std::vector<std::string> not_verified;   // why a folder that was named gave nothing, a sentence each
  bool all = false;                        // as in VerifyRequest
  bool parts = false;                      // as in VerifyRequest
  int processes = 1;
  std::size_t threads = 1;

  // Where nothing is wrong, one complete checkpoint (or part, where these are enough) is enough for kDone;
  // without any it is kUnsuitable.
  [[nodiscard]] ExitCode exit_code() const;
};

// Collective. Reads every file of every complete checkpoint under the folders and compares each byte with the
// one that the manifest says it was made as. Process 0 lists folders and reads manifests; the processes
// divide the files. Writes nothing. The result is process 0's, and the same whatever the number of processes
// and threads. Throws RunFailure alike on all processes: 3 where no folder has anything to verify, or a run
// is at work on all of them; ExitCode::kInterrupted, within a block, once any process is asked to end before
// all is read. Where a drive gives no answer for stall_seconds, the program is ended from within with a
// sentence and exit code 4: no thread that is stuck in the kernel can be waited for.
[[nodiscard]] VerifyResult verify(Communicator& communicator, const VerifyRequest& request,
                                  Progress& progress, Interruption& interruption);

}  // namespace ckptsim::simulator
