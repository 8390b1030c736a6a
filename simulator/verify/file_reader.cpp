#include "simulator/verify/file_reader.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ckptsim::simulator {
namespace {

using storage::Buffer;
using storage::Completion;
using storage::Request;

constexpr int kFile = 0;

std::error_code carry_out(storage::Target& target, Request request) {
  target.submit(std::move(request));
  Completion completion;
  target.wait(completion);
  return completion.error;
}

class Reading {
 public:
  Reading(storage::Target& target, std::uint64_t bytes) : target_(target), bytes_(bytes) {}

  void submit_what_fits() {
    while (next_ < bytes_ && target_.transfers_in_flight() < target_.queue_depth()) {
      Buffer buffer = target_.take_buffer();
      if (!buffer.valid()) return;
      const std::uint64_t alignment = target_.io_alignment();
      Request request;
      request.kind = Request::Kind::kRead;
      request.file = kFile;
      request.offset = next_;
      request.length =
          std::min(target_.block_bytes(), (bytes_ - next_ + alignment - 1) / alignment * alignment);
      request.buffer = std::move(buffer);
      next_ += request.length;
      target_.submit(std::move(request));
    }
  }

  // The block at `offset`, waiting for it.
  Completion take(std::uint64_t offset) {
    while (arrived_.find(offset) == arrived_.end()) {
      Completion completion;
      target_.wait(completion);
      const std::uint64_t at = completion.offset;
      arrived_.emplace(at, std::move(completion));
    }
    auto node = arrived_.extract(offset);
    return std::move(node.mapped());
  }

  // Waits for what was submitted and that nobody takes.
  void drain() {
    Completion completion;
    while (target_.transfers_in_flight() > 0)
      target_.wait(completion);
  }

 private:
  storage::Target& target_;
  std::uint64_t bytes_;
  std::uint64_t next_ = 0;  // not yet submitted from here on
  std::map<std::uint64_t, Completion> arrived_;
};

}  // namespace

std::error_code read_in_order(storage::Target& target, const std::string& path, std::uint64_t bytes,
                              std::atomic<std::uint64_t>& read_bytes,
                              const std::function<bool(const ReadStretch&)>& consume) {
  Request open;
  open.kind = Request::Kind::kOpenToRead;
  open.file = kFile;
  open.path = path;
  if (const std::error_code error = carry_out(target, std::move(open))) return error;
  Reading reading(target, bytes);
  for (std::uint64_t offset = 0; offset < bytes; offset += target.block_bytes()) {
    reading.submit_what_fits();
    const Completion completion = reading.take(offset);
    const std::uint64_t asked = std::min(target.block_bytes(), bytes - offset);
    ReadStretch stretch{.offset = offset, .asked = asked, .bytes = {}, .error = completion.error};
    if (!completion.error)
      stretch.bytes =
          std::span<const std::byte>(completion.buffer.bytes()).first(std::min(asked, completion.length));
    read_bytes += stretch.bytes.size();
    if (!consume(stretch)) break;
  }
  reading.drain();
  Request close;
  close.kind = Request::Kind::kClose;
  close.file = kFile;
  (void)carry_out(target, std::move(close));
  return {};
}

}  // namespace ckptsim::simulator
