#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "simulator/communicator/communicator.h"
#include "simulator/engine/failure.h"

namespace ckptsim::simulator {

// Whether this process was asked to end early, and by which signal. Any thread may call anything.
class Interruption {
 public:
  // The first call decides.
  void ask(int signal);

  [[nodiscard]] bool asked() const { return signal_ != 0; }
  [[nodiscard]] int signal() const { return signal_; }  // 0 where nobody asked

  // Until asked, or for `time`. Whether it was asked.
  bool wait_for(std::chrono::nanoseconds time);

  // Until asked, or until a stop is requested. Whether it was asked.
  bool wait(const std::stop_token& stop);

  // "interrupted by SIGTERM", for agreeing on it; none where nobody asked.
  [[nodiscard]] std::optional<Failure> failure() const;

 private:
  std::atomic<int> signal_{0};
  std::mutex mutex_;
  std::condition_variable_any changed_;
};

// Collective. Throws the same RunFailure 130 everywhere when any process was asked to end.
void stop_where_asked(Communicator& communicator, const Interruption& interruption);

// Tells that this process was asked: process 0 tells all others, another one tells process 0. Does not wait.
void pass_on(Communicator& communicator, const Interruption& interruption);

// Collective. together(), for work of the main thread in steps that can take long: `work` calls what it is
// given between them, and is left there once any process was asked to end. Then, or where a process was asked
// meanwhile, throws as stop_where_asked() does. Afterwards nothing is called any more while the communicator
// waits.
using Look = std::function<void()>;
void together_until_asked(Communicator& communicator, Interruption& interruption, ExitCode system_code,
                          const std::function<void(const Look& look)>& work);

// "interrupted by SIGTERM"; by number where the signal has no name here. `launched`: by mpirun, whose SIGTERM
// need not be anybody's wish.
[[nodiscard]] std::string interruption_words(int signal, bool launched = launcher_of_environment().present);

}  // namespace ckptsim::simulator
