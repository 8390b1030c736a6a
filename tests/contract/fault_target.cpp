#include "tests/contract/fault_target.h"

#include <cstring>
#include <thread>
#include <utility>

namespace ckptsim::test {

using storage::Completion;
using storage::Request;

FaultTarget::FaultTarget(std::unique_ptr<storage::Target> real, const storage::Clock& clock,
                         std::vector<Fault> script)
    : Target(clock, real->block_bytes(), real->queue_depth(), real->io_alignment(), storage::HugePages::kOff),
      real_(std::move(real)),
      script_(std::move(script)) {}

FaultTarget::~FaultTarget() = default;

void FaultTarget::release() {
  const std::scoped_lock lock(mutex_);
  released_ = true;
  released_changed_.notify_all();
}

std::size_t FaultTarget::count(Kind kind) const {
  const std::scoped_lock lock(mutex_);
  const auto found = counts_.find(kind);
  return found == counts_.end() ? 0 : found->second;
}

bool FaultTarget::all_buffers_are_back() {
  std::vector<storage::Buffer> taken;
  for (storage::Buffer buffer = take_buffer(); buffer.valid(); buffer = take_buffer())
    taken.push_back(std::move(buffer));
  return taken.size() == buffers().count() && pending() == 0 && real_->pending() == 0;
}

std::optional<Fault> FaultTarget::fault_of(Kind kind) {
  const std::scoped_lock lock(mutex_);
  const std::size_t number = ++counts_[kind];
  for (const Fault& fault : script_) {
    if (fault.kind == kind && number >= fault.first && number - fault.first < fault.count) return fault;
  }
  return std::nullopt;
}

void FaultTarget::wait_for_release() {
  std::unique_lock lock(mutex_);
  released_changed_.wait(lock, [this] { return released_; });
}

// By the real target, with a buffer of its own.
Completion FaultTarget::carry_out(Request& request, std::optional<std::uint64_t> shorter) {
  Request real;
  real.kind = request.kind;
  real.file = request.file;
  real.folder = request.folder;
  real.path = request.path;
  real.mode = request.mode;
  real.offset = request.offset;
  real.length = shorter.value_or(request.length);
  if (is_transfer(request.kind)) {
    real.buffer = real_->take_buffer();
    std::memcpy(real.buffer.bytes().data(), request.buffer.bytes().data(), request.length);
  }
  real_->submit(std::move(real));
  Completion done;
  real_->wait(done);
  if (request.kind == Kind::kRead)
    std::memcpy(request.buffer.bytes().data(), done.buffer.bytes().data(), done.length);
  return done;
}

bool FaultTarget::do_submit(Request& request, Completion& completion) {
  const Fault fault = fault_of(request.kind).value_or(Fault{});
  if (fault.before) fault.before();
  if (fault.hangs && is_transfer(request.kind)) {
    hanging_.push_back({std::move(request), std::move(completion)});
    return false;
  }
  if (fault.hangs) wait_for_release();
  std::this_thread::sleep_for(fault.delay);
  completion.error = fault.error;
  if (fault.error || fault.lost) return true;
  const Completion done = carry_out(request, fault.shorter);
  completion.error = done.error;
  if (request.kind == Kind::kRead) completion.length = done.length;
  return true;
}

bool FaultTarget::do_reap(bool block, Completion& completion) {
  if (hanging_.empty()) return false;
  if (block) wait_for_release();
  {
    const std::scoped_lock lock(mutex_);
    if (!released_) return false;
  }
  Hanging hanging = std::move(hanging_.front());
  hanging_.pop_front();
  const Completion done = carry_out(hanging.request, std::nullopt);
  completion = std::move(hanging.completion);
  completion.error = done.error;
  completion.buffer = std::move(hanging.request.buffer);
  return true;
}

}  // namespace ckptsim::test
