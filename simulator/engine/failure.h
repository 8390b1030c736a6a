#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "simulator/communicator/communicator.h"

namespace ckptsim::simulator {

// The design's exit codes.
enum class ExitCode : int {
  kDone = 0,
  kUsage = 2,         // usage or configuration
  kUnsuitable = 3,    // the target cannot be used as asked
  kInputOutput = 4,   // an I/O error during the run
  kVerification = 5,  // bytes are not what they should be
  kInterrupted = 130,
};

// Something that stops the run, as one process knows it. `rank` is a model rank, or -1 where none is to
// blame.
struct Failure {
  ExitCode code = ExitCode::kInputOutput;
  std::string message;
  std::string host;
  long rank = -1;
};

// How a process ends after a failure.
enum class Leaving {
  kNormally,
  kAtOnce,  // threads here are stuck in the kernel: without destructors, once the communicator is closed
  kAbort,   // another process answers no more: all are ended, with Communicator::abort()
};

// Thrown on every process alike, after all have agreed; where it says kAbort, only on the one that found it
// out. what() is the sentence for the user.
class RunFailure : public std::runtime_error {
 public:
  RunFailure(ExitCode code, const std::string& message, Leaving leaving = Leaving::kNormally)
      : std::runtime_error(message), code_(code), leaving_(leaving) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }
  [[nodiscard]] Leaving leaving() const noexcept { return leaving_; }

 private:
  ExitCode code_;
  Leaving leaving_;
};

// Collective. Returns when no process has a failure; otherwise throws the same RunFailure everywhere: that of
// the lowest rank, or the lowest process where no rank is to blame. The message names rank and host where
// more than one takes part.
void agree(Communicator& communicator, const std::optional<Failure>& mine);

// What an exception says, as a Failure: ConfigError 2, UnsuitableTarget 3, FormatError 5, std::system_error
// `system_code`.
// Anything else is thrown on.
[[nodiscard]] Failure failure_of(const std::exception& error, ExitCode system_code);

// Runs `work` here and agrees on its outcome: caught once, the same everywhere.
template <typename Work>
void together(Communicator& communicator, ExitCode system_code, Work&& work) {
  std::optional<Failure> failure;
  try {
    work();
  } catch (const RunFailure&) {
    throw;  // already agreed on
  } catch (const std::exception& error) {
    failure = failure_of(error, system_code);
  }
  agree(communicator, failure);
}

[[nodiscard]] std::string host_name();

}  // namespace ckptsim::simulator
