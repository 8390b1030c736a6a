#include <mpi.h>

#include <array>
#include <chrono>
#include <climits>
#include <list>
#include <numeric>
#include <stdexcept>
#include <thread>

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

// MPI's own waits spin, and would take the processor from ranks that still write. This one yields first, so
// that a barrier whose last process is near opens at once, and then sleeps for ever longer moments.
void wait_politely(MPI_Request& request, const char* call) {
  using std::chrono::microseconds;
  constexpr int kYields = 200;
  constexpr microseconds kLongestPause{500};
  microseconds pause{20};
  int done = 0;
  for (int attempt = 0; done == 0; ++attempt) {
    check(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE), call);
    if (done != 0) break;
    if (attempt < kYields) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  check(MPI_Wait(&request, MPI_STATUS_IGNORE), call);  // it is complete: this only frees it
}

int checked_length(const std::string& text) {
  if (text.size() > INT_MAX) throw std::length_error("a process's part of a message passes 2 GiB");
  return static_cast<int>(text.size());
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

  [[nodiscard]] std::string broadcast(std::string text) override {
    std::uint64_t length = static_cast<std::uint64_t>(checked_length(text));
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
    const std::uint64_t total = std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
    // Agreed on, so that no process waits for a gather that the root cannot enter.
    if (broadcast_from(root, total) > INT_MAX) throw std::length_error("a gathered message passes 2 GiB");
    std::string all(total, '\0');
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

  void broadcast_bytes(void* data, std::size_t size) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(data, static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD, &request), "MPI_Ibcast");
    wait_politely(request, "MPI_Ibcast");
  }

  [[nodiscard]] std::uint64_t broadcast_from(int root, std::uint64_t value) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(&value, 1, MPI_UINT64_T, root, MPI_COMM_WORLD, &request), "MPI_Ibcast");
    wait_politely(request, "MPI_Ibcast");
    return value;
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
