// Run by ctest under mpirun with several processes: each checks what it must see, and any that does not makes
// the job fail.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/engine/failure.h"

namespace {

using namespace ckptsim::simulator;

void expect(bool holds, const char* what, const Communicator& communicator) {
  if (holds) return;
  std::fprintf(stderr, "process %d of %d: not so: %s\n", communicator.process(), communicator.processes(),
               what);
  std::_Exit(1);
}

std::string text_of(int process) {
  // Lengths that differ, an empty one, bytes of every kind, and one past the eager limit of any transport.
  if (process == 1) return {};
  return std::string(process == 2 ? 3'000'000 : 10, static_cast<char>('a' + process)) +
         std::string("\0\n", 2);
}

void check_collectives(Communicator& communicator) {
  const int here = communicator.process();
  expect(communicator.broadcast(here == 0 ? text_of(2) : "ignored") == text_of(2), "broadcast is process 0's",
         communicator);
  for (int root = 0; root < communicator.processes(); ++root) {
    const std::vector<std::string> parts = communicator.gather(text_of(here), root);
    expect(parts.size() == (here == root ? static_cast<std::size_t>(communicator.processes()) : 0U),
           "only the root gathers", communicator);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      expect(parts[i] == text_of(static_cast<int>(i)), "gathered in order", communicator);
    }
  }
  expect(!communicator.any(false), "nobody says so", communicator);
  for (int one = 0; one < communicator.processes(); ++one)
    expect(communicator.any(here == one), "what one says all hear", communicator);
  const std::vector<std::string> all = communicator.all_gather(text_of(here));
  for (std::size_t i = 0; i < all.size(); ++i) {
    expect(all[i] == text_of(static_cast<int>(i)), "all_gather in order", communicator);
  }
}

void check_side_messages(Communicator& communicator) {
  if (communicator.process() != 0) {
    for (std::uint64_t value = 1; value <= 10; ++value) {
      communicator.post(0, {.process = communicator.process(), .value = value});
    }
  }
  communicator.barrier();
  if (communicator.process() == 0) {
    std::vector<std::uint64_t> last(static_cast<std::size_t>(communicator.processes()), 0);
    for (int wanted = 10 * (communicator.processes() - 1); wanted > 0;) {
      const auto message = communicator.poll();
      if (!message.has_value()) continue;
      std::uint64_t& seen = last[static_cast<std::size_t>(message->process)];
      expect(message->value == seen + 1, "messages of a sender arrive in order", communicator);
      seen = message->value;
      --wanted;
    }
  } else {
    // Left unread on purpose: ending must cope with them.
    communicator.post(0, {.process = communicator.process(), .value = 11});
  }
}

void check_agreement(Communicator& communicator) {
  agree(communicator, std::nullopt);
  std::optional<Failure> mine;
  if (communicator.process() > 0) {
    mine = Failure{
        .code = ExitCode::kUnsuitable, .message = "broken", .host = "h", .rank = 10 - communicator.process()};
  }
  try {
    agree(communicator, mine);
    expect(false, "a failure anywhere is a failure everywhere", communicator);
  } catch (const RunFailure& failure) {
    const std::string lowest =
        "rank " + std::to_string(10 - (communicator.processes() - 1)) + " on h: broken";
    expect(failure.what() == lowest, "all have the lowest rank's failure", communicator);
    expect(failure.code() == ExitCode::kUnsuitable, "and its exit code", communicator);
  }
}

// Process 0 enters the barrier only when every other process has done something within it.
void check_work_while_waiting(Communicator& communicator) {
  int told = 0;
  if (communicator.process() == 0) {
    std::set<int> heard;
    while (heard.size() + 1 < static_cast<std::size_t>(communicator.processes())) {
      if (const auto message = communicator.poll(); message.has_value() && message->value == 77)
        heard.insert(message->process);
    }
  } else {
    communicator.while_waiting([&] {
      if (told++ == 0) communicator.post(0, {.process = communicator.process(), .value = 77});
    });
  }
  communicator.barrier();
  communicator.while_waiting({});
  expect(communicator.process() == 0 || told > 0, "work is done while waiting", communicator);
  const int before = told;
  communicator.barrier();
  expect(told == before, "and none when it was taken back", communicator);
}

// What the work throws leaves the collective, and abort() ends them all: process 0 never comes.
void leave_a_collective(Communicator& communicator) {
  if (communicator.process() == 0) {
    for (;;)
      pause();
  }
  if (communicator.process() == 1) {
    communicator.while_waiting([] { throw RunFailure(ExitCode::kInputOutput, "silent", Leaving::kAbort); });
  }
  try {
    communicator.barrier();
  } catch (const RunFailure& failure) {
    expect(failure.leaving() == Leaving::kAbort, "as it was thrown", communicator);
    communicator.abort(static_cast<int>(failure.code()));
  }
  expect(false, "nobody passes the barrier", communicator);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const auto communicator = make_communicator();
  expect(communicator->processes() == 4, "mpirun -np 4", *communicator);
  if (argument_count > 1 && std::string(arguments[1]) == "leave") leave_a_collective(*communicator);
  check_collectives(*communicator);
  check_side_messages(*communicator);
  check_agreement(*communicator);
  check_work_while_waiting(*communicator);
  communicator->barrier();
  return 0;
}
