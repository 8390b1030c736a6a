#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ckptsim::simulator {

// A small message outside the collectives: a process tells others while they are busy.
struct SideMessage {
  enum class Kind : std::uint32_t { kProgress = 1, kFailure = 2, kInterruption = 3, kAlive = 4, kSilent = 5 };
  Kind kind = Kind::kProgress;
  std::uint32_t checkpoint = 0;  // which save or load of the run: messages of an earlier one are dropped by
                                 // the reader, but for kInterruption, which is of the run as a whole
  std::int32_t process = 0;      // the sender
  std::uint32_t padding = 0;
  // kProgress: bytes written or read so far by the sender; kInterruption: the signal; kSilent: the process
  // that the sender has not heard of.
  std::uint64_t value = 0;
};

// The processes of one run. Collectives are entered by all processes in the same order, from one thread;
// waiting in them leaves the processor to others. Failures of the layer below are std::runtime_error.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] virtual int process() const = 0;  // 0 .. processes() - 1
  [[nodiscard]] virtual int processes() const = 0;

  virtual void barrier() = 0;

  // Whether any process says so, on every process.
  [[nodiscard]] virtual bool any(bool here) = 0;

  // Process 0's text on every process.
  [[nodiscard]] virtual std::string broadcast(std::string text) = 0;

  // Every process's text, in order of processes, on `root`; empty elsewhere.
  [[nodiscard]] virtual std::vector<std::string> gather(std::string text, int root) = 0;

  // Every process's text, in order of processes, on every process.
  [[nodiscard]] virtual std::vector<std::string> all_gather(std::string text) = 0;

  // Sends without waiting for the receiver; a message to oneself is not allowed.
  virtual void post(int destination, const SideMessage& message) = 0;
  // A message that has arrived, if any.
  [[nodiscard]] virtual std::optional<SideMessage> poll() = 0;

  // Ends all processes with this exit code, also those that answer no more, without their destructors.
  [[noreturn]] virtual void abort(int exit_code) = 0;

  // Called again and again while this process waits for others in a collective; empty: nothing is. What it
  // throws leaves the collective, and the communicator fit for abort() alone.
  void while_waiting(std::function<void()> work) { while_waiting_ = std::move(work); }

  // "serial", or the MPI library's own description.
  [[nodiscard]] virtual std::string description() const = 0;

 protected:
  void work_while_waiting() const {
    if (while_waiting_) while_waiting_();
  }

 private:
  std::function<void()> while_waiting_;
};

// One process alone; its ranks are threads.
[[nodiscard]] std::unique_ptr<Communicator> make_serial_communicator();

// Starts MPI (once in a process); its destructor ends it.
[[nodiscard]] std::unique_ptr<Communicator> make_mpi_communicator();

// What the environment says of a launcher, before MPI is started.
struct Launcher {
  bool present = false;  // mpirun, srun with PMI, or another that MPI understands
  int process = 0;
};
[[nodiscard]] Launcher launcher_of_environment();

// MPI under a launcher, serial otherwise.
[[nodiscard]] std::unique_ptr<Communicator> make_communicator();

}  // namespace ckptsim::simulator
