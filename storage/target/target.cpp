#include "storage/target/target.h"

#include <cstring>
#include <limits>
#include <utility>

#include "storage/target/check.h"

namespace ckptsim::storage {
namespace {

// Two more than are in flight: one being filled, and one full and waiting for its turn.
constexpr std::uint64_t kSpareBuffers = 2;
// Nothing waits for its turn, and more would only be memory that is touched and never used.
constexpr unsigned kBuffersInsideSubmit = 2;

unsigned buffer_count(std::uint64_t queue_depth, Writing writing) {
  check(queue_depth > 0, "a target's queue depth is at least 1");
  check(queue_depth <= std::numeric_limits<unsigned>::max() - kSpareBuffers,
        "a target's queue depth fits its type");
  if (writing == Writing::kInsideSubmit) return kBuffersInsideSubmit;
  return static_cast<unsigned>(queue_depth + kSpareBuffers);
}

bool is_sync(Request::Kind kind) {
  return kind == Request::Kind::kSync || kind == Request::Kind::kSyncDirectory;
}

// Within one of a target's calls, for those who watch; ends with an exception as well.
class InCall {
 public:
  explicit InCall(TargetActivity& activity) noexcept : activity_(activity) {}
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;
  ~InCall() { activity_.end_call(); }

 private:
  TargetActivity& activity_;
};

bool names_a_path(Request::Kind kind) {
  return kind == Request::Kind::kOpen || kind == Request::Kind::kOpenToRead ||
         kind == Request::Kind::kSyncDirectory;
}

}  // namespace

Target::Target(const Clock& clock, std::uint64_t block_bytes, std::uint64_t queue_depth,
               std::uint64_t io_alignment, HugePages huge_pages, Writing writing)
    : clock_(clock),
      buffers_(buffer_count(queue_depth, writing), block_bytes, huge_pages),
      queue_depth_(writing == Writing::kInsideSubmit ? 1 : queue_depth),
      io_alignment_(io_alignment) {
  check(io_alignment > 0 && block_bytes % io_alignment == 0, "a block is a multiple of the I/O alignment");
}

void Target::submit(Request request) {
  check_request(request);
  Completion completion;
  completion.kind = request.kind;
  completion.file = request.file;
  completion.offset = request.offset;
  completion.length = request.length;
  completion.submitted = clock_.now();

  ++pending_;
  if (is_transfer(request.kind)) ++transfers_in_flight_;
  if (is_sync(request.kind)) ++sync_calls_;
  activity_.begin_submit(request, completion.submitted);
  {
    const InCall call(activity_);
    if (!do_submit(request, completion)) return;
  }
  completion.completed = clock_.now();
  completion.buffer = std::move(request.buffer);
  ready_.push_back(std::move(completion));
}

void Target::check_request(const Request& request) const {
  check(!names_a_path(request.kind) || !request.path.empty(), "a request to open or sync by path has a path");
  if (!is_transfer(request.kind)) return;
  check(transfers_in_flight_ < queue_depth_, "transfers in flight stay within the queue depth");
  check(request.buffer.valid(), "a transfer has a buffer");
  const std::byte* const data = request.buffer.bytes().data();
  check(data >= buffers_.memory().data() && data < buffers_.memory().data() + buffers_.memory().size(),
        "a transfer's buffer is one of its target's");
  check(request.length > 0 && request.length <= block_bytes(), "a transfer has between one byte and a block");
  check(request.length % io_alignment_ == 0 && request.offset % io_alignment_ == 0,
        "a transfer's offset and length are multiples of the I/O alignment");
}

bool Target::poll(Completion& completion) {
  return next(false, completion);
}

void Target::wait(Completion& completion) {
  check(pending_ > 0, "there is a request to wait for");
  activity_.begin_wait();
  const InCall call(activity_);
  check(next(true, completion), "a blocking reap delivers a completion");
}

bool Target::next(bool block, Completion& completion) {
  if (pending_ == 0) return false;
  if (!ready_.empty()) {
    completion = std::move(ready_.front());
    ready_.pop_front();
  } else {
    Completion reaped;
    if (!do_reap(block, reaped)) return false;
    if (reaped.completed == Clock::Time{}) reaped.completed = clock_.now();
    completion = std::move(reaped);
  }
  --pending_;
  if (is_transfer(completion.kind)) --transfers_in_flight_;
  activity_.answered(completion.kind, completion.file, completion.offset);
  return true;
}

Buffer Target::take_buffer() {
  return buffers_.take();
}

void Target::warm_up() {
  // Buffers in flight hold data that the drive is still reading.
  check(pending_ == 0, "buffers are warmed up before anything is submitted");
  std::memset(buffers_.memory().data(), 0, buffers_.memory().size());
}

}  // namespace ckptsim::storage
