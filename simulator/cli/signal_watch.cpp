#include "simulator/cli/signal_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>

#include "simulator/run/started_thread.h"
#include "storage/uninterrupted.h"

namespace ckptsim::cli {
namespace {

using std::chrono::steady_clock;

// timeout(1) and some launchers signal a process and then its group: that is one request, not two.
constexpr std::chrono::milliseconds kSameRequest{50};

bool hang_ups_are_ignored() {
  struct sigaction action {};
  sigaction(SIGHUP, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

sigset_t signals_to_take() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (!hang_ups_are_ignored()) sigaddset(&signals, SIGHUP);
  return signals;
}

void check(bool done, const char* call) {
  if (!done) throw std::system_error(errno, std::generic_category(), call);
}

}  // namespace

SignalWatch::SignalWatch(simulator::Interruption& interruption) : interruption_(interruption) {
  const sigset_t signals = signals_to_take();
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC);
  check(signals_ >= 0, "cannot listen for signals (signalfd)");
  end_ = eventfd(0, EFD_CLOEXEC);
  check(end_ >= 0, "cannot listen for signals (eventfd)");
  listener_ = simulator::started_thread("to listen for signals", [this] { listen(); });
}

SignalWatch::~SignalWatch() {
  const std::uint64_t one = 1;
  // An eventfd that nobody has written to takes this.
  [[maybe_unused]] const ssize_t written =
      storage::uninterrupted([&] { return write(end_, &one, sizeof one); });
  listener_.join();
  close(signals_);
  close(end_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void SignalWatch::listen() {
  steady_clock::time_point first;
  int first_signal = 0;
  for (;;) {
    std::array<pollfd, 2> ready{
        {{.fd = signals_, .events = POLLIN, .revents = 0}, {.fd = end_, .events = POLLIN, .revents = 0}}};
    if (poll(ready.data(), ready.size(), -1) < 0) continue;  // EINTR: a debugger was here
    signalfd_siginfo taken{};
    if (ready[0].revents != 0 && read(signals_, &taken, sizeof taken) == sizeof taken) {
      const int signal = static_cast<int>(taken.ssi_signo);
      if (first_signal == 0) {
        first_signal = signal;
        first = steady_clock::now();
        interruption_.ask(signal);
      } else if (signal != SIGHUP && (signal != first_signal || steady_clock::now() - first > kSameRequest)) {
        _exit(static_cast<int>(simulator::ExitCode::kInterrupted));
      }
    } else if (ready[1].revents != 0) {
      return;
    }
  }
}

}  // namespace ckptsim::cli
