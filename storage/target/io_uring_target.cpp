// The only file that knows liburing.
#include "storage/target/io_uring_target.h"

#include <fmt/format.h>
#include <liburing.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "storage/errors.h"
#include "storage/target/check.h"
#include "storage/target/open_files.h"
#include "storage/target/registered_files.h"
#include "storage/target/short_transfer.h"

namespace ckptsim::storage {
namespace {

std::string words(int error) {
  return std::system_category().message(error);
}

// io_uring_setup(2) and what belongs to it. Neither IORING_SETUP_COOP_TASKRUN nor DEFER_TASKRUN: with them a
// completion enters the ring only at a system call, and polling for one could not be a look at memory.
class Ring {
 public:
  explicit Ring(unsigned entries, unsigned flags = 0) noexcept
      : error_(-io_uring_queue_init(entries, &ring_, flags)) {}
  ~Ring() {
    if (error_ == 0) io_uring_queue_exit(&ring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  [[nodiscard]] int error() const noexcept { return error_; }  // an errno, 0 when the ring can be used
  [[nodiscard]] io_uring* get() noexcept { return &ring_; }

 private:
  io_uring ring_{};
  int error_;
};

unsigned ring_flags(const TargetOptions& options) {
  return (options.submission_polling ? IORING_SETUP_SQPOLL : 0U) |
         (options.completion_polling ? IORING_SETUP_IOPOLL : 0U);
}

// With submission polling the kernel's thread gives an entry's place back some time after it took the entry
// up, so that a write can have completed while its place is still taken.
unsigned ring_entries(const TargetOptions& options) {
  const auto writes = static_cast<unsigned>(options.queue_depth);
  return options.submission_polling ? 2 * writes : writes;
}

std::string why_refused(int error) {
  switch (error) {
    case ENOSYS:
      return fmt::format("io_uring_setup: {} (this kernel has no io_uring)", words(error));
    case EPERM:
    case EACCES:
      return fmt::format(
          "io_uring_setup: {} (the sysctl kernel.io_uring_disabled or the container forbids it)",
          words(error));
    case ENOMEM:
      return fmt::format("io_uring_setup: {} (RLIMIT_MEMLOCK is too low for this kernel)", words(error));
    default:
      return fmt::format("io_uring_setup: {}", words(error));
  }
}

std::string memory_lock_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return fmt::format("unknown ({})", words(errno));
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} bytes", limit.rlim_cur);
}

class IoUringTarget final : public Target {
 public:
  IoUringTarget(const TargetOptions& options, const Clock& clock)
      : Target(clock, options.block_bytes, options.queue_depth, options.io_alignment, options.huge_pages),
        files_(Caching::kDirect),
        transfers_(options.queue_depth),
        submission_polling_(options.submission_polling),
        ring_(ring_entries(options), ring_flags(options)) {
    if (ring_.error() != 0) {
      throw UnsuitableTarget(
          fmt::format("io_uring with a queue depth of {} cannot be had: {}; --backend direct works "
                      "without it",
                      options.queue_depth, why_refused(ring_.error())));
    }
    for (unsigned slot = 0; slot < transfers_.size(); ++slot)
      free_slots_.push_back(slot);
    register_buffers(options.registered_buffers);
    if (options.registered_files) register_files();
  }

  ~IoUringTarget() override {
    // The drive still reads from the buffers. Only a ring that no longer answers ends this early; the kernel
    // has pinned the pages of what it still has, so that their memory stays theirs.
    io_uring_cqe* arrived = nullptr;
    while (in_kernel_ > 0) {
      const int result = io_uring_wait_cqe(ring_.get(), &arrived);
      if (result == -EINTR) continue;
      if (result != 0) break;
      io_uring_cqe_seen(ring_.get(), arrived);
      --in_kernel_;
    }
  }

  [[nodiscard]] TargetFacts facts() const override {
    return {"io_uring", true, registered_reason_.empty(), registered_reason_};
  }

 private:
  // One read or write from its submission to its delivery; its place in transfers_ is the ring's user_data.
  struct Transfer {
    Request request;
    Clock::Time submitted{};
    int descriptor = -1;
    std::uint64_t done = 0;
  };

  bool do_submit(Request& request, Completion& completion) override {
    if (!is_transfer(request.kind)) {
      if (request.kind == Request::Kind::kClose) forget_registration(request.file);
      completion.error = files_.carry_out(request);
      return true;
    }
    check(!free_slots_.empty(), "a transfer in flight has a slot");
    const unsigned slot = free_slots_.back();
    free_slots_.pop_back();
    const int descriptor = descriptor_in_ring(request.file);
    transfers_[slot] = {std::move(request), completion.submitted, descriptor, 0};
    start(slot);
    return false;
  }

  bool do_reap(bool block, Completion& completion) override {
    io_uring_cqe* arrived = nullptr;
    while (next_arrival(block, arrived)) {
      const auto slot = static_cast<unsigned>(io_uring_cqe_get_data64(arrived));
      const int result = arrived->res;
      io_uring_cqe_seen(ring_.get(), arrived);
      --in_kernel_;
      if (advance(slot, result, completion)) return true;
    }
    return false;
  }

  // A look at the ring's memory, and a system call only to block; with completion polling always a call,
  // since that is what polls.
  [[nodiscard]] bool next_arrival(bool block, io_uring_cqe*& arrived) {
    for (;;) {
      const int result =
          block ? io_uring_wait_cqe(ring_.get(), &arrived) : io_uring_peek_cqe(ring_.get(), &arrived);
      if (result == 0) return true;
      if (result == -EINTR) continue;
      if (result == -EAGAIN && !block) return false;
      throw std::system_error(-result, std::system_category(),
                              "io_uring_enter: waiting for reads and writes");
    }
  }

  // What an arrival means for its transfer: finished (true), or the rest has been started again.
  [[nodiscard]] bool advance(unsigned slot, int result, Completion& completion) {
    Transfer& transfer = transfers_[slot];
    const bool write = transfer.request.kind == Request::Kind::kWrite;
    std::error_code error;
    if (result < 0 && result != -EINTR) {
      error = {-result, std::system_category()};
    } else if (write && result == 0) {
      error = {EIO, std::system_category()};
    } else {
      const auto count = static_cast<std::uint64_t>(std::max(result, 0));
      transfer.done = write ? continue_at(transfer.done, count, io_alignment()) : transfer.done + count;
      const bool at_end = !write && result >= 0 && read_met_the_end(count, io_alignment());
      if (transfer.done < transfer.request.length && !at_end) {
        start(slot);
        return false;
      }
    }
    if (registered_.has_value()) registered_->transfer_ended(transfer.request.file);
    completion.kind = transfer.request.kind;
    completion.file = transfer.request.file;
    completion.offset = transfer.request.offset;
    completion.length = write ? transfer.request.length : transfer.done;
    completion.error = error;
    completion.submitted = transfer.submitted;
    completion.buffer = std::move(transfer.request.buffer);
    free_slots_.push_back(slot);
    return true;
  }

  void start(unsigned slot) {
    const Transfer& transfer = transfers_[slot];
    io_uring_sqe* const entry = next_entry();
    std::byte* const data = transfer.request.buffer.bytes().data() + transfer.done;
    const auto length = static_cast<unsigned>(transfer.request.length - transfer.done);
    const std::uint64_t offset = transfer.request.offset + transfer.done;
    const auto buffer = static_cast<int>(transfer.request.buffer.index());
    const bool fixed = registered_reason_.empty();
    if (transfer.request.kind == Request::Kind::kRead) {
      if (fixed) {
        io_uring_prep_read_fixed(entry, transfer.descriptor, data, length, offset, buffer);
      } else {
        io_uring_prep_read(entry, transfer.descriptor, data, length, offset);
      }
    } else if (fixed) {
      io_uring_prep_write_fixed(entry, transfer.descriptor, data, length, offset, buffer);
    } else {
      io_uring_prep_write(entry, transfer.descriptor, data, length, offset);
    }
    // A file that is not open is not registered either: -1, which the kernel answers with EBADF.
    if (registered_.has_value() && transfer.descriptor >= 0) entry->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data64(entry, slot);
    enter();
  }

  [[nodiscard]] io_uring_sqe* next_entry() {
    io_uring_sqe* entry = io_uring_get_sqe(ring_.get());
    if (entry == nullptr && submission_polling_) {
      const int result = io_uring_sqring_wait(ring_.get());  // until the kernel's thread has given one back
      if (result < 0)
        throw std::system_error(-result, std::system_category(), "io_uring_enter: waiting for an entry");
      entry = io_uring_get_sqe(ring_.get());
    }
    check(entry != nullptr, "the ring has an entry for every slot");
    return entry;
  }

  void enter() {
    constexpr int most_attempts = 1000;
    for (int attempt = 1;; ++attempt) {
      const int result = io_uring_submit(ring_.get());
      // With submission polling the entry is in the ring and its thread awake, and the result is how many
      // entries that thread has yet to take up: any number, none too.
      if (result >= 1 || (result == 0 && submission_polling_)) break;
      // EAGAIN: the kernel was short of memory for the request, which stays in the ring. That passes, or is
      // an error.
      const bool passing = result == -EAGAIN || result == 0;
      if (result == -EINTR || (passing && attempt < most_attempts)) {
        sched_yield();
        continue;
      }
      throw std::system_error(-result, std::system_category(), "io_uring_enter: submitting a read or write");
    }
    ++in_kernel_;
  }

  void register_buffers(RegisteredBuffers wanted) {
    if (wanted == RegisteredBuffers::kOff) {
      registered_reason_ = "switched off";
      return;
    }
    std::vector<iovec> blocks;
    for (unsigned index = 0; index < buffers().count(); ++index) {
      blocks.push_back({buffers().memory().data() + index * block_bytes(), block_bytes()});
    }
    const int result =
        io_uring_register_buffers(ring_.get(), blocks.data(), static_cast<unsigned>(blocks.size()));
    if (result == 0) return;
    registered_reason_ = fmt::format("registering {} bytes of buffers: {}; RLIMIT_MEMLOCK (ulimit -l) is {}",
                                     buffers().memory().size(), words(-result), memory_lock_limit());
    if (wanted == RegisteredBuffers::kOn) {
      throw UnsuitableTarget(
          fmt::format("io_uring cannot use registered buffers: {}; raise that limit, or let "
                      "storage.registered_buffers be auto or off",
                      registered_reason_));
    }
  }

  void register_files() {
    // At most queue_depth files have a write in flight, so that there is always a place for one more.
    registered_.emplace(queue_depth() + 1);
    const int result = io_uring_register_files_sparse(ring_.get(), static_cast<unsigned>(queue_depth()) + 1);
    if (result == 0) return;
    const std::string advice =
        result == -EMFILE ? fmt::format("the table of {} places passes the limit on open files, ulimit -n",
                                        queue_depth() + 1)
                          : std::string("Linux 5.19 or later can");
    throw UnsuitableTarget(
        fmt::format("io_uring cannot use registered files: {} ({}); set storage.registered_files to false",
                    words(-result), advice));
  }

  // What a write names its file by: its descriptor, or its place in the ring's table.
  [[nodiscard]] int descriptor_in_ring(int file) {
    const int descriptor = files_.descriptor(file);
    if (!registered_.has_value() || descriptor < 0) return descriptor;
    const RegisteredFiles::Place place = registered_->transfer_begins(file);
    if (place.is_new) update_registration(place.slot, descriptor);
    return static_cast<int>(place.slot);
  }

  void forget_registration(int file) {
    if (!registered_.has_value()) return;
    if (const std::optional<unsigned> slot = registered_->forget(file)) update_registration(*slot, -1);
  }

  void update_registration(unsigned slot, int descriptor) {
    const int result = io_uring_register_files_update(ring_.get(), slot, &descriptor, 1);
    if (result != 1) throw std::system_error(-result, std::system_category(), "io_uring_register: a file");
  }

  OpenFiles files_;
  std::optional<RegisteredFiles> registered_;  // none: writes name descriptors
  std::vector<Transfer> transfers_;
  bool submission_polling_;
  std::vector<unsigned> free_slots_;
  std::uint64_t in_kernel_ = 0;
  std::string registered_reason_;
  Ring ring_;
};

}  // namespace

std::unique_ptr<Target> make_io_uring_target(const TargetOptions& options, const Clock& clock) {
  return std::make_unique<IoUringTarget>(options, clock);
}

std::string io_uring_refusal() {
  Ring ring(1);
  if (ring.error() != 0) return why_refused(ring.error());
  io_uring_probe* const probe = io_uring_get_probe_ring(ring.get());
  if (probe == nullptr) return "io_uring_register: this kernel cannot list its operations";
  const bool writes = io_uring_opcode_supported(probe, IORING_OP_WRITE) != 0;
  io_uring_free_probe(probe);
  return writes ? std::string() : "this kernel's io_uring has no IORING_OP_WRITE";
}

}  // namespace ckptsim::storage
