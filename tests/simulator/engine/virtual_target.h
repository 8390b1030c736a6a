#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "simulator/engine/block_producer.h"
#include "storage/target/target.h"

namespace ckptsim::simulator::testing {

// A clock that stands still until it is set.
class VirtualClock final : public storage::Clock {
 public:
  [[nodiscard]] Time now() const override { return now_; }
  void set(Time time) { now_ = std::max(now_, time); }

 private:
  Time now_{};
};

// A drive in virtual time: requests take a fixed time each and wait for one another; nothing is stored but
// what was asked. A kind of request can be made to fail from its n-th on. Files that it serves can be read;
// where reads may overtake each other, the last comes back first.
class VirtualTarget final : public storage::Target {
 public:
  using Kind = storage::Request::Kind;

  struct Costs {
    storage::Clock::Time write{100};
    storage::Clock::Time read{100};
    storage::Clock::Time sync{1000};
    storage::Clock::Time other{10};
  };

  struct Seen {
    Kind kind;
    int file;
    std::uint64_t offset;
    std::uint64_t length;
    std::string path;
    storage::OpenMode mode;
  };

  VirtualTarget(VirtualClock& clock, Costs costs, std::uint64_t block_bytes = 4096,
                std::uint64_t queue_depth = 2, std::uint64_t io_alignment = 512)
      : Target(clock, block_bytes, queue_depth, io_alignment), clock_(clock), costs_(costs) {}

  [[nodiscard]] storage::TargetFacts facts() const override { return {"virtual", false, false, ""}; }

  void fail(Kind kind, std::size_t nth, std::errc code) { failures_[kind] = {nth, code}; }

  void serve(const std::string& path, std::string bytes) { served_[path] = std::move(bytes); }
  void let_reads_overtake() { reads_overtake_ = true; }

  [[nodiscard]] const std::vector<Seen>& seen() const { return seen_; }
  [[nodiscard]] std::size_t count(Kind kind) const {
    return static_cast<std::size_t>(
        std::count_if(seen_.begin(), seen_.end(), [kind](const Seen& seen) { return seen.kind == kind; }));
  }

  // When the next completion is due; none while nothing is pending.
  [[nodiscard]] std::optional<storage::Clock::Time> next_due() const {
    if (queue_.empty()) return std::nullopt;
    return queue_.front().due;
  }

 private:
  struct Pending {
    storage::Clock::Time due{};
    storage::Completion completion;
  };

  bool do_submit(storage::Request& request, storage::Completion& completion) override {
    seen_.push_back({request.kind, request.file, request.offset, request.length, request.path, request.mode});
    const auto failure = failures_.find(request.kind);
    if (failure != failures_.end() && count(request.kind) >= failure->second.first) {
      completion.error = std::make_error_code(failure->second.second);
    }
    if (request.kind == Kind::kOpenToRead && !completion.error) open_to_read(request, completion);
    if (request.kind == Kind::kRead && !completion.error) read(request, completion);
    completion.buffer = std::move(request.buffer);
    busy_until_ = std::max(busy_until_, clock_.now()) + cost(request.kind);
    queue_.push_back({busy_until_, std::move(completion)});
    return false;
  }

  bool do_reap(bool block, storage::Completion& completion) override {
    if (queue_.empty()) return false;
    if (queue_.front().due > clock_.now()) {
      if (!block) return false;
      clock_.set(queue_.front().due);
    }
    if (reads_overtake_ && queue_.front().completion.kind == Kind::kRead &&
        queue_.back().completion.kind == Kind::kRead) {
      std::swap(queue_.front().completion, queue_.back().completion);
    }
    completion = std::move(queue_.front().completion);
    completion.completed = queue_.front().due;
    queue_.erase(queue_.begin());
    return true;
  }

  void open_to_read(const storage::Request& request, storage::Completion& completion) {
    const auto found = served_.find(request.path);
    if (found == served_.end()) {
      completion.error = std::make_error_code(std::errc::no_such_file_or_directory);
    } else {
      open_[request.file] = &found->second;
    }
  }

  void read(const storage::Request& request, storage::Completion& completion) {
    const std::string& bytes = *open_.at(request.file);
    const std::uint64_t there = bytes.size() - std::min<std::uint64_t>(bytes.size(), request.offset);
    completion.length = std::min(request.length, there);
    if (completion.length == 0) return;
    std::memcpy(request.buffer.bytes().data(), bytes.data() + request.offset, completion.length);
  }

  [[nodiscard]] storage::Clock::Time cost(Kind kind) const {
    if (kind == Kind::kWrite) return costs_.write;
    if (kind == Kind::kRead) return costs_.read;
    return kind == Kind::kSync || kind == Kind::kSyncDirectory ? costs_.sync : costs_.other;
  }

  VirtualClock& clock_;
  Costs costs_;
  storage::Clock::Time busy_until_{};
  std::vector<Pending> queue_;
  std::vector<Seen> seen_;
  std::map<std::string, std::string> served_;
  std::map<int, const std::string*> open_;
  bool reads_overtake_ = false;
  std::map<Kind, std::pair<std::size_t, std::errc>> failures_;
};

// A file of `bytes` counted-up bytes. Making a piece takes `piece_cost` of the virtual clock.
class CountingSource final : public FileSource {
 public:
  CountingSource(std::uint64_t bytes, VirtualClock* clock, storage::Clock::Time piece_cost)
      : bytes_(bytes), clock_(clock), piece_cost_(piece_cost) {}

  std::size_t read(std::span<std::byte> out) override {
    const std::size_t count =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), bytes_ - position_));
    for (std::size_t i = 0; i < count; ++i)
      out[i] = static_cast<std::byte>((position_ + i) & 0xff);
    position_ += count;
    if (clock_ != nullptr) clock_->set(clock_->now() + piece_cost_);
    return count;
  }
  [[nodiscard]] std::uint64_t file_bytes() const override { return bytes_; }
  [[nodiscard]] storage::torch::FileDigest digest() const override {
    return {.file_bytes = bytes_, .crc32 = 0, .records = {}};
  }

 private:
  std::uint64_t bytes_;
  std::uint64_t position_ = 0;
  VirtualClock* clock_;
  storage::Clock::Time piece_cost_;
};

}  // namespace ckptsim::simulator::testing
