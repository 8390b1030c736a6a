#include "storage/target/target_activity.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace ckptsim::storage {

// By the kernel's memory of the folder, not by the drive.
std::string TargetActivity::whole_path(const Place& place) {
  if (place.folder == AT_FDCWD || place.path.starts_with('/')) return place.path;
  std::error_code unknown;
  const std::filesystem::path link = "/proc/self/fd/" + std::to_string(place.folder);
  const std::filesystem::path folder = std::filesystem::read_symlink(link, unknown);
  if (unknown) return place.path;
  return place.path == "." ? folder.string() : (folder / place.path).string();
}

void TargetActivity::begin_submit(const Request& request, Clock::Time now) {
  const bool opens = request.kind == Request::Kind::kOpen || request.kind == Request::Kind::kOpenToRead;
  const bool folder = request.kind == Request::Kind::kSyncDirectory;
  {
    const std::scoped_lock lock(mutex_);
    const Place place{request.folder, request.path};
    if (opens) places_[request.file] = place;
    pending_.push_back({request.kind, request.file, request.offset, folder ? place : Place{}, now});
  }
  submitting_.store(true, std::memory_order_relaxed);
  calls_.fetch_add(1, std::memory_order_release);
}

void TargetActivity::begin_wait() noexcept {
  submitting_.store(false, std::memory_order_relaxed);
  calls_.fetch_add(1, std::memory_order_release);
}

void TargetActivity::answered(Request::Kind kind, int file, std::uint64_t offset) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) {
    return pending.kind == kind && pending.file == file && pending.offset == offset;
  });
  if (found != pending_.end()) pending_.erase(found);
  if (kind == Request::Kind::kClose) places_.erase(file);
}

std::optional<TargetActivity::Waiting> TargetActivity::waiting_for() const {
  const std::scoped_lock lock(mutex_);
  if (!within_call(calls()) || pending_.empty()) return std::nullopt;
  const Pending& pending = submitting_.load(std::memory_order_relaxed) ? pending_.back() : pending_.front();
  const auto file = places_.find(pending.file);
  const bool folder = pending.kind == Request::Kind::kSyncDirectory;
  return Waiting{.kind = pending.kind,
                 .path = whole_path(folder || file == places_.end() ? pending.place : file->second),
                 .offset = pending.offset,
                 .since = pending.since};
}

}  // namespace ckptsim::storage
