#pragma once

#include <csignal>
#include <thread>

#include "simulator/run/interruption.h"

namespace ckptsim::cli {

// While it lives, the first SIGINT, SIGTERM or SIGHUP asks `interruption` to end, and a second SIGINT or
// SIGTERM ends the process at once with exit code 130. A hang-up never counts as the second, because a closed
// session may hang up twice, from the shell and from the kernel; where hang-ups are ignored (nohup) they stay
// so.
//
// The signals are blocked in the thread that makes it, and so in all that are started later, and a thread of
// its own takes them: no system call of the run is ever interrupted, and whatever the others wait for, the
// request is heard. Made before MPI and before any other thread. Throws std::system_error.
class SignalWatch {
 public:
  explicit SignalWatch(simulator::Interruption& interruption);
  ~SignalWatch();  // the signals have their former effect again
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  void listen();

  simulator::Interruption& interruption_;
  sigset_t before_{};
  int signals_ = -1;  // signalfd
  int end_ = -1;      // eventfd
  std::jthread listener_;
};

}  // namespace ckptsim::cli
