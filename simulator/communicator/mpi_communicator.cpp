#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <list>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/communicator/packing.h"

namespace ckptsim::simulator {
namespace {

constexpr int kSideTag = 1;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw std::runtime_error(std::string(call) + ": " +
                           std::string(text.data(), static_cast<std::size_t>(length)));
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_FUNNELED) {
      throw std::runtime_error("this MPI cannot run beside threads (MPI_THREAD_FUNNELED)");
    }
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &side_), "MPI_Comm_dup");
    MPI_Comm_rank(MPI_COMM_WORLD, &process_);
    MPI_Comm_size(MPI_COMM_WORLD, &processes_);
  }

  ~MpiCommunicator() override {
    // What was posted and never read is received here: MPI_Finalize need not cope with it.
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS) {
      int done = 0;
      while (done == 0 && MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
        discard_arrived();
        std::this_thread::yield();
      }
    }
    discard_arrived();
    for (Sent& sent : sent_)
      MPI_Request_free(&sent.request);
    MPI_Comm_free(&side_);
    MPI_Finalize();
  }

  [[nodiscard]] int process() const override { return process_; }
  [[nodiscard]] int processes() const override { return processes_; }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
    wait_politely(request, "MPI_Ibarrier");
  }

  // A gather and a scatter are one message for each process, straight from or to process 0; in a reduction
  // and a broadcast the news passes through a tree of processes, and where they share processors each of them
  // has to be given one first.
  [[nodiscard]] bool any(bool here) override {
    const char mine = here ? 1 : 0;
    std::vector<char> all(process_ == 0 ? static_cast<std::size_t>(processes_) : 0);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Igather(&mine, 1, MPI_CHAR, all.data(), 1, MPI_CHAR, 0, MPI_COMM_WORLD, &request),
          "MPI_Igather");
    wait_politely(request, "MPI_Igather");
    const bool found = std::find(all.begin(), all.end(), 1) != all.end();
    std::fill(all.begin(), all.end(), found ? 1 : 0);
    char answer = 0;
    check(MPI_Iscatter(all.data(), 1, MPI_CHAR, &answer, 1, MPI_CHAR, 0, MPI_COMM_WORLD, &request),
          "MPI_Iscatter");
    wait_politely(request, "MPI_Iscatter");
    return answer != 0;
  }

  [[nodiscard]] std::string broadcast(std::string text) override {
    if (text.size() > INT_MAX) throw std::length_error("a message passes 2 GiB");
    std::uint64_t length = text.size();
    broadcast_bytes(&length, sizeof length);
    text.resize(length);
    broadcast_bytes(text.data(), text.size());
    return text;
  }

  [[nodiscard]] std::vector<std::string> gather(std::string text, int root) override {
    const bool here = process_ == root;
    const int length = checked_length(text);
    std::vector<int> lengths(here ? static_cast<std::size_t>(processes_) : 0);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Igather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, root, MPI_COMM_WORLD, &request),
          "MPI_Igather");
    wait_politely(request, "MPI_Igather");

    std::vector<int> offsets(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
    std::string all(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}), '\0');
    check(MPI_Igatherv(text.data(), length, MPI_BYTE, all.data(), lengths.data(), offsets.data(), MPI_BYTE,
                       root, MPI_COMM_WORLD, &request),
          "MPI_Igatherv");
    wait_politely(request, "MPI_Igatherv");

    std::vector<std::string> parts;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      parts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i])));
    }
    return parts;
  }

  [[nodiscard]] std::vector<std::string> all_gather(std::string text) override {
    return unpack(broadcast(pack(gather(std::move(text), 0))));
  }

  void post(int destination, const SideMessage& message) override {
    forget_delivered();
    Sent& sent = sent_.emplace_back(Sent{message, MPI_REQUEST_NULL});
    check(
        MPI_Isend(&sent.message, sizeof(SideMessage), MPI_BYTE, destination, kSideTag, side_, &sent.request),
        "MPI_Isend");
  }

  [[nodiscard]] std::optional<SideMessage> poll() override {
    int arrived = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, kSideTag, side_, &arrived, &status), "MPI_Iprobe");
    if (arrived == 0) return std::nullopt;
    SideMessage message;
    check(MPI_Recv(&message, sizeof message, MPI_BYTE, status.MPI_SOURCE, kSideTag, side_, MPI_STATUS_IGNORE),
          "MPI_Recv");
    return message;
  }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

  [[nodiscard]] std::string description() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string whole(text.data());
    return whole.substr(0, whole.find_first_of(",\n"));
  }

 private:
  struct Sent {
    SideMessage message;
    MPI_Request request;
  };

  // MPI's own waits spin, and would take the processor from ranks that still write. This one yields for a
  // moment, so that a barrier whose last process is near opens at once, and then sleeps for a part of the
  // time that it has waited: what has just begun is likely to end soon, and what has lasted may last.
  void wait_politely(MPI_Request& request, const char* call) const {
    using std::chrono::microseconds;
    constexpr microseconds kYielding{200};
    constexpr microseconds kShortestPause{20};
    constexpr microseconds kLongestPause{500};
    constexpr int kWaitedOverPause = 8;
    const auto start = std::chrono::steady_clock::now();
    for (int done = 0;;) {
      check(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE), call);
      if (done != 0) break;
      work_while_waiting();
      const auto waited = std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - start);
      if (waited < kYielding) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::clamp(waited / kWaitedOverPause, kShortestPause, kLongestPause));
      }
    }
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), call);  // it is complete: this only frees it
  }

  void broadcast_bytes(void* data, std::size_t size) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(data, static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD, &request), "MPI_Ibcast");
    wait_politely(request, "MPI_Ibcast");
  }

  // So short that all processes' texts together fit the int that MPI counts with. A longer one ends its
  // process and, through the launcher, the run: texts are of kilobytes.
  [[nodiscard]] int checked_length(const std::string& text) const {
    if (text.size() > static_cast<std::size_t>(INT_MAX / processes_)) {
      throw std::length_error("a process's part of a message passes 2 GiB over the number of processes");
    }
    return static_cast<int>(text.size());
  }

  void forget_delivered() {
    sent_.remove_if([](Sent& sent) {
      int done = 0;
      check(MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      return done != 0;
    });
  }

  // For the destructor: errors end the draining and nothing else.
  void discard_arrived() noexcept {
    int arrived = 0;
    MPI_Status status;
    while (MPI_Iprobe(MPI_ANY_SOURCE, kSideTag, side_, &arrived, &status) == MPI_SUCCESS && arrived != 0) {
      SideMessage message;
      if (MPI_Recv(&message, sizeof message, MPI_BYTE, status.MPI_SOURCE, kSideTag, side_,
                   MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return;
      }
    }
  }

  int process_ = 0;
  int processes_ = 1;
  MPI_Comm side_ = MPI_COMM_NULL;  // side messages never match a collective's traffic
  std::list<Sent> sent_;           // addresses stay put while MPI reads them
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator() {
  return std::make_unique<MpiCommunicator>();
}

}  // namespace ckptsim::simulator
