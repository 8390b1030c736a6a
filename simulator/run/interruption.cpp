#include "simulator/run/interruption.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

namespace ckptsim::simulator {
namespace {

struct LeftEarly {};

void hear(Communicator& communicator, Interruption& interruption) {
  while (const std::optional<SideMessage> message = communicator.poll()) {
    if (message->kind == SideMessage::Kind::kInterruption) interruption.ask(static_cast<int>(message->value));
  }
}

// Whoever waits in a collective hands nothing on, so that each is told directly.
void tell_all(Communicator& communicator, const Interruption& interruption) {
  for (int process = 0; process < communicator.processes(); ++process) {
    if (process == communicator.process()) continue;
    communicator.post(process, {.kind = SideMessage::Kind::kInterruption,
                                .process = communicator.process(),
                                .value = static_cast<std::uint64_t>(interruption.signal())});
  }
}

// What a communicator does while it waits, as long as this lives.
class WhileWaiting {
 public:
  WhileWaiting(Communicator& communicator, std::function<void()> work) : communicator_(communicator) {
    communicator_.while_waiting(std::move(work));
  }
  ~WhileWaiting() { communicator_.while_waiting({}); }
  WhileWaiting(const WhileWaiting&) = delete;
  WhileWaiting& operator=(const WhileWaiting&) = delete;

 private:
  Communicator& communicator_;
};

}  // namespace

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

void together_until_asked(Communicator& communicator, Interruption& interruption, ExitCode system_code,
                          const std::function<void(const Look& look)>& work) {
  bool told = false;
  const auto tell_once = [&] {
    if (!told && interruption.asked()) {
      told = true;
      tell_all(communicator, interruption);
    }
    return told;
  };
  {
    const WhileWaiting waiting(communicator, [&] { tell_once(); });
    together(communicator, system_code, [&] {
      try {
        work([&] {
          hear(communicator, interruption);
          if (tell_once()) throw LeftEarly{};
        });
      } catch (const LeftEarly&) {  // all agree on it below
      }
    });
  }
  stop_where_asked(communicator, interruption);
}

std::string interruption_words(int signal, bool launched) {
  switch (signal) {
    case SIGINT:
      return "interrupted by SIGINT";
    case SIGTERM:
      return launched ? "interrupted by SIGTERM, which mpirun sends when it is stopped and when one of its "
                        "processes ends; its own message says which"
                      : "interrupted by SIGTERM";
    case SIGHUP:
      return "interrupted by SIGHUP";
    default:
      return fmt::format("interrupted by signal {}", signal);
  }
}

}  // namespace ckptsim::simulator
