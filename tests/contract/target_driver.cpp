#include "tests/contract/target_driver.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace ckptsim::test {

using storage::Completion;
using storage::OpenMode;
using storage::Request;

std::string content(std::uint64_t size_bytes, unsigned seed) {
  std::string bytes(size_bytes, '\0');
  std::uint64_t state = seed;
  for (char& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<char>(state >> 56U);
  }
  return bytes;
}

Completion TargetDriver::run(Request request) {
  target_.submit(std::move(request));
  Completion completion;
  target_.wait(completion);
  return completion;
}

Completion TargetDriver::open(int file, const std::string& path, OpenMode mode) {
  Request request;
  request.kind = Request::Kind::kOpen;
  request.file = file;
  request.path = path;
  request.mode = mode;
  return run(std::move(request));
}

Completion TargetDriver::simple(Request::Kind kind, int file, std::uint64_t length) {
  Request request;
  request.kind = kind;
  request.file = file;
  request.length = length;
  return run(std::move(request));
}

std::vector<Completion> TargetDriver::write(int file, const std::string& bytes, std::uint64_t offset) {
  std::vector<Completion> arrived;
  const auto reap = [&] {
    Completion completion;
    target_.wait(completion);
    completion.buffer = storage::Buffer();
    arrived.push_back(std::move(completion));
  };
  for (std::uint64_t done = 0; done < bytes.size();) {
    while (target_.transfers_in_flight() == target_.queue_depth())
      reap();
    const std::uint64_t length = std::min<std::uint64_t>(target_.block_bytes(), bytes.size() - done);
    const std::uint64_t alignment = target_.io_alignment();
    Request request;
    request.kind = Request::Kind::kWrite;
    request.file = file;
    request.offset = offset + done;
    request.length = (length + alignment - 1) / alignment * alignment;
    request.buffer = target_.take_buffer();
    if (!request.buffer.valid()) throw std::runtime_error("no buffer although fewer writes are in flight");
    std::memset(request.buffer.bytes().data(), 0xEE, request.length);
    std::memcpy(request.buffer.bytes().data(), bytes.data() + done, length);
    target_.submit(std::move(request));
    done += length;
  }
  while (target_.transfers_in_flight() > 0)
    reap();
  return arrived;
}

std::error_code TargetDriver::write_file(const std::string& path, const std::string& bytes, bool sync,
                                         OpenMode mode) {
  constexpr int file = 7;
  if (const auto opened = open(file, path, mode); opened.error) return opened.error;
  std::error_code first;
  const auto note = [&first](const Completion& completion) {
    if (!first) first = completion.error;
  };
  for (const Completion& completion : write(file, bytes))
    note(completion);
  note(simple(Request::Kind::kSetLength, file, bytes.size()));
  if (sync) note(simple(Request::Kind::kSync, file));
  note(simple(Request::Kind::kClose, file));
  return first;
}

void TargetDriver::submit_block(int file, std::uint64_t offset) {
  Request request;
  request.kind = Request::Kind::kWrite;
  request.file = file;
  request.offset = offset;
  request.length = target_.block_bytes();
  request.buffer = target_.take_buffer();
  std::memset(request.buffer.bytes().data(), 0x5A, request.length);
  target_.submit(std::move(request));
}

}  // namespace ckptsim::test
