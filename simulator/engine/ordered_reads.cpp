#include "simulator/engine/ordered_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/invariant.h"
#include "storage/torch/byte_source.h"

namespace ckptsim::simulator {

using storage::Completion;
using storage::Request;

void OrderedReads::start(int file, const std::string& path, std::uint64_t file_bytes, std::uint64_t begin,
                         std::uint64_t end) {
  require(held() == 0, "a part of a file is read to its end before the next");
  file_ = file;
  path_ = path;
  file_bytes_ = file_bytes;
  begin_ = begin - begin % target_.io_alignment();
  end_ = round_up(end);
  submitted_ = begin_;
  position_ = begin_;
}

std::uint64_t OrderedReads::round_up(std::uint64_t offset) const {
  const std::uint64_t alignment = target_.io_alignment();
  return (offset + alignment - 1) / alignment * alignment;
}

void OrderedReads::shorten(std::uint64_t end) {
  end_ = std::min(end_, std::max(submitted_, round_up(end)));
}

bool OrderedReads::owns(const Completion& completion) const {
  return std::find(in_flight_.begin(), in_flight_.end(), completion.buffer.index()) != in_flight_.end();
}

bool OrderedReads::ready_to_submit() {
  if (submitted_ >= end_ || target_.transfers_in_flight() >= target_.queue_depth()) return false;
  if (!free_.valid()) free_ = target_.take_buffer();
  return free_.valid();
}

void OrderedReads::submit() {
  Request request;
  request.kind = Request::Kind::kRead;
  request.file = file_;
  request.offset = submitted_;
  request.length = std::min(target_.block_bytes(), end_ - submitted_);
  in_flight_.push_back(free_.index());
  request.buffer = std::move(free_);
  submitted_ += request.length;
  target_.submit(std::move(request));
}

void OrderedReads::complete(Completion completion) {
  std::erase(in_flight_, completion.buffer.index());
  const std::uint64_t asked = std::min(target_.block_bytes(), end_ - completion.offset);
  const std::uint64_t expected =
      completion.offset < file_bytes_ ? std::min(asked, file_bytes_ - completion.offset) : 0;
  const std::uint64_t came_to = completion.offset + completion.length;
  if (completion.length < expected) {
    storage::torch::fail_at(path_, came_to,
                            fmt::format("the file ends here, and {} bytes were saved", file_bytes_));
  }
  if (completion.length > expected) {
    storage::torch::fail_at(path_, file_bytes_,
                            fmt::format("the file goes on, and {} bytes were saved", file_bytes_));
  }
  const std::uint64_t offset = completion.offset;
  arrived_.emplace(offset, std::move(completion));
  passed(0);
}

std::span<const std::byte> OrderedReads::next(std::size_t most) const {
  if (arrived_.empty()) return {};
  const auto& [offset, completion] = *arrived_.begin();
  if (offset > position_) return {};
  const std::uint64_t done = position_ - offset;
  return std::span<const std::byte>(completion.buffer.bytes())
      .subspan(done, std::min<std::uint64_t>(most, completion.length - done));
}

// A block all of whose bytes were handed out gives its buffer back; so does one behind the file's end.
void OrderedReads::passed(std::size_t bytes) {
  position_ += bytes;
  while (!arrived_.empty()) {
    const auto first = arrived_.begin();
    if (first->first > position_ || position_ - first->first < first->second.length) return;
    position_ = std::min(end_, first->first + target_.block_bytes());
    arrived_.erase(first);
  }
}

void OrderedReads::abandon() {
  arrived_.clear();
  in_flight_.clear();
  free_ = storage::Buffer{};
}

}  // namespace ckptsim::simulator
