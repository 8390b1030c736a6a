#include "storage/target/target_activity.h"

#include <algorithm>
#include <utility>

namespace ckptsim::storage {

void TargetActivity::begin_submit(const Request& request, Clock::Time now) {
  const bool opens = request.kind == Request::Kind::kOpen || request.kind == Request::Kind::kOpenToRead;
  const bool folder = request.kind == Request::Kind::kSyncDirectory;
  {
    const std::scoped_lock lock(mutex_);
    if (opens) paths_[request.file] = request.path;
    pending_.push_back({request.kind, request.file, request.offset, folder ? request.path : "", now});
    submitting_ = true;
  }
  calls_.fetch_add(1, std::memory_order_release);
}

void TargetActivity::begin_wait() {
  {
    const std::scoped_lock lock(mutex_);
    submitting_ = false;
  }
  calls_.fetch_add(1, std::memory_order_release);
}

void TargetActivity::answered(Request::Kind kind, int file, std::uint64_t offset) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) {
    return pending.kind == kind && pending.file == file && pending.offset == offset;
  });
  if (found != pending_.end()) pending_.erase(found);
  if (kind == Request::Kind::kClose) paths_.erase(file);
}

std::optional<TargetActivity::Waiting> TargetActivity::waiting_for() const {
  const std::scoped_lock lock(mutex_);
  if (!within_call(calls()) || pending_.empty()) return std::nullopt;
  const Pending& pending = submitting_ ? pending_.back() : pending_.front();
  const auto path = paths_.find(pending.file);
  const bool folder = pending.kind == Request::Kind::kSyncDirectory;
  return Waiting{.kind = pending.kind,
                 .path = folder || path == paths_.end() ? pending.path : path->second,
                 .offset = pending.offset,
                 .since = pending.since};
}

}  // namespace ckptsim::storage
