#pragma once

#include <fcntl.h>

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <system_error>

#include "storage/clock.h"
#include "storage/target/buffer.h"
#include "storage/target/request.h"
#include "storage/target/target_activity.h"

namespace ckptsim::storage {

// The outcome of one request. On error nothing is known about what reached the drive.
struct Completion {
  Request::Kind kind = Request::Kind::kClose;
  int file = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // as asked for; of a kRead, the bytes that came: fewer only where the file ends
  std::error_code error;     // system_category; empty when the request was carried out in full
  Clock::Time submitted{};
  Clock::Time completed{};  // when the completion was seen: at its arrival or at the next poll() after it
  Buffer buffer;
};

// How a target really works, for the report.
struct TargetFacts {
  std::string backend;     // "io_uring", "direct", "buffered", "null"
  bool direct_io = false;  // files are opened with O_DIRECT
  bool registered_buffers = false;
  std::string registered_reason;  // why not, in words; empty when registered or not applicable
};

// When a backend carries its reads and writes out.
enum class Writing {
  kInFlight,      // after submit() has returned: as many at a time as the queue is deep
  kInsideSubmit,  // before submit() returns: one at a time, however deep a queue was asked for
};

// One rank's handle on one target: the seam behind which every backend, real or simulated, lives.
//
// Requests of one file are carried out in the order of submission, except that reads and writes (transfers)
// between two other requests may overtake each other; the caller waits for its transfers before it submits
// kSetLength, kSync or kClose of the same file. submit() may block (a plain system call) or return at once
// (an asynchronous transfer); either way the outcome arrives as one Completion through poll() or wait().
// Short transfers and EINTR are continued inside.
//
// Not thread-safe: one thread, one target; another one may look at activity() alone. The public calls check,
// count and stamp; backends override the hooks. The destructor never throws: it waits for what is in flight
// and closes what is open.
class Target {
 public:
  virtual ~Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  // The caller keeps transfers_in_flight() below queue_depth() before it submits another transfer, and uses a
  // file's number again only after that file was closed (asserted). Errors of a request are its completion's;
  // a file that is not open is EBADF there. submit(), poll() and wait() throw std::system_error only when the
  // backend itself fails (an io_uring that no longer answers), which leaves the target fit for destruction
  // only.
  void submit(Request request);

  // The next completion that has already arrived, without blocking. False: none has.
  [[nodiscard]] bool poll(Completion& completion);

  // The next completion, waiting for it. There must be something pending (asserted).
  void wait(Completion& completion);

  // A free buffer of block_bytes(), or an invalid one when all are in use. There are queue_depth() + 2 of
  // them; where transfers are carried out inside submit(), 2: one with its completion, and one being filled.
  [[nodiscard]] Buffer take_buffer();

  // Touches every buffer, so that first-touch page faults are not measured.
  void warm_up();

  // Submitted and not yet delivered by poll() or wait(), finished or not; of these, the reads and writes.
  [[nodiscard]] std::uint64_t pending() const noexcept { return pending_; }
  [[nodiscard]] std::uint64_t transfers_in_flight() const noexcept { return transfers_in_flight_; }
  [[nodiscard]] std::uint64_t sync_calls() const noexcept { return sync_calls_; }  // kSync and kSyncDirectory

  // Length and offset of every transfer are multiples of this (1: any); buffers are aligned to it.
  [[nodiscard]] std::uint64_t io_alignment() const noexcept { return io_alignment_; }
  [[nodiscard]] std::uint64_t block_bytes() const noexcept { return buffers_.buffer_bytes(); }
  // As asked for; 1 where transfers are carried out inside submit().
  [[nodiscard]] std::uint64_t queue_depth() const noexcept { return queue_depth_; }
  // All buffers, one after another.
  [[nodiscard]] std::span<const std::byte> buffer_memory() const noexcept { return buffers_.memory(); }
  [[nodiscard]] virtual TargetFacts facts() const = 0;

  // What submit() or wait() is busy with, for a thread that watches over this target's.
  [[nodiscard]] const TargetActivity& activity() const noexcept { return activity_; }

 protected:
  Target(const Clock& clock, std::uint64_t block_bytes, std::uint64_t queue_depth, std::uint64_t io_alignment,
         HugePages huge_pages = HugePages::kAuto, Writing writing = Writing::kInFlight);

  [[nodiscard]] BufferPool& buffers() noexcept { return buffers_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

  // Starts the request. The hook either finishes it (returns true with completion.error set or empty) or
  // keeps it and delivers it through do_reap later (returns false).
  virtual bool do_submit(Request& request, Completion& completion) = 0;

  // Delivers one earlier request; with block set, waits for one. Returns false when none has arrived. The
  // completion's kind, file, offset, length, submitted and buffer are those of the request.
  // `completed` too where the backend knows it better than "now" (a drive in virtual time).
  virtual bool do_reap(bool block, Completion& completion) = 0;

 private:
  void check_request(const Request& request) const;
  bool next(bool block, Completion& completion);

  const Clock& clock_;
  BufferPool buffers_;
  std::uint64_t queue_depth_;
  std::uint64_t io_alignment_;
  std::uint64_t pending_ = 0;
  std::uint64_t transfers_in_flight_ = 0;
  std::uint64_t sync_calls_ = 0;
  TargetActivity activity_;
  std::deque<Completion> ready_;  // of requests that finished inside submit()
};

}  // namespace ckptsim::storage
