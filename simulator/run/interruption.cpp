#include "simulator/run/interruption.h"

#include <fmt/format.h>

#include <csignal>

namespace ckptsim::simulator {

void Interruption::ask(int signal) {
  {
    // Under the mutex, so that nobody who has just looked goes to sleep on it.
    const std::scoped_lock lock(mutex_);
    int nobody = 0;
    signal_.compare_exchange_strong(nobody, signal);
  }
  changed_.notify_all();
}

bool Interruption::wait_for(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return asked(); });
}

bool Interruption::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  return changed_.wait(lock, stop, [this] { return asked(); });
}

std::optional<Failure> Interruption::failure() const {
  if (!asked()) return std::nullopt;
  return Failure{
      .code = ExitCode::kInterrupted, .message = interruption_words(signal()), .host = host_name()};
}

void stop_where_asked(Communicator& communicator, const Interruption& interruption) {
  agree(communicator, interruption.failure());
}

void pass_on(Communicator& communicator, const Interruption& interruption) {
  const int mine = communicator.process();
  const SideMessage message{.kind = SideMessage::Kind::kInterruption,
                            .process = mine,
                            .value = static_cast<std::uint64_t>(interruption.signal())};
  if (mine != 0) {
    communicator.post(0, message);
    return;
  }
  for (int process = 1; process < communicator.processes(); ++process)
    communicator.post(process, message);
}

std::string interruption_words(int signal) {
  switch (signal) {
    case SIGINT:
      return "interrupted by SIGINT";
    case SIGTERM:
      return "interrupted by SIGTERM";
    case SIGHUP:
      return "interrupted by SIGHUP";
    default:
      return fmt::format("interrupted by signal {}", signal);
  }
}

}  // namespace ckptsim::simulator
