#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "storage/clock.h"
#include "storage/target/request.h"

namespace ckptsim::storage {

// What a target has been asked and has not answered, for a thread that watches over the target's own one,
// which may be stuck in a system call for ever. begin_…, end_call() and answered() are the target's thread's;
// calls() and waiting_for() anyone's.
class TargetActivity {
 public:
  // The request that a call which does not return waits for.
  struct Waiting {
    Request::Kind kind = Request::Kind::kClose;
    std::string path;  // of the file, or of the folder that is synced
    std::uint64_t offset = 0;
    Clock::Time since{};
  };

  void begin_submit(const Request& request, Clock::Time now);  // carries a request out, perhaps at once
  void begin_wait() noexcept;                                  // blocks until something completes
  void end_call() noexcept { calls_.fetch_add(1, std::memory_order_release); }
  void answered(Request::Kind kind, int file, std::uint64_t offset);  // its completion has been delivered

  // Goes up whenever a call begins or ends: odd within one. The same odd number for long is a call that does
  // not return.
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_.load(std::memory_order_acquire); }

  [[nodiscard]] static bool within_call(std::uint64_t calls) noexcept { return calls % 2 != 0; }

  // Within a call: the request being submitted, or the oldest one that is waited for. Empty outside.
  [[nodiscard]] std::optional<Waiting> waiting_for() const;

 private:
  // As a request names it.
  struct Place {
    int folder = 0;
    std::string path;
  };
  [[nodiscard]] static std::string whole_path(const Place& place);

  struct Pending {
    Request::Kind kind;
    int file;
    std::uint64_t offset;
    Place place;  // of a folder; a file's is in places_
    Clock::Time since;
  };

  std::atomic<std::uint64_t> calls_{0};
  std::atomic<bool> submitting_{false};  // of the call that begins; calls_ publishes it
  mutable std::mutex mutex_;             // held for a few instructions, never over a system call
  std::deque<Pending> pending_;
  std::map<int, Place> places_;  // by number, of files that are open or being opened
};

}  // namespace ckptsim::storage
