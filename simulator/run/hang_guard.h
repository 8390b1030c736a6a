#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "simulator/communicator/communicator.h"
#include "simulator/run/stall_words.h"
#include "storage/call_listener.h"

namespace ckptsim::simulator {

// How long a single call of the main thread may take.
struct HangLimit {
  std::chrono::nanoseconds limit{};  // zero: for ever
  std::chrono::nanoseconds grace{};  // and so much longer, for another process to speak first
  std::string_view setting = kStallSetting;
};

// Of this process. Where several wait for the same drive, process 0 says so, and its launcher ends the others
// before they do.
[[nodiscard]] HangLimit hang_limit(const Communicator& communicator, std::chrono::nanoseconds stall_limit);

// For how long a process may be silent before its neighbour ends the run: long enough for its own HangGuard,
// which knows what it waits for, to have ended it.
[[nodiscard]] std::chrono::nanoseconds silence_limit(std::chrono::nanoseconds stall_limit);

// Stands beside work of the main thread on a drive (a manifest, the journal) that may never return. Where a
// single call takes as long as the limit the program is ended from here, with exit code 4, a sentence on
// stderr that says what it was doing, and no destructors; the launcher ends the other processes. Work of many
// calls may take as long as it likes: the time starts anew with each that storage::CallListener hears of, and
// with alive(). Nothing that waits for other processes may stand under it.
class HangGuard final : private storage::CallListener {
 public:
  // `doing`: "writing the manifest of checkpoint 2"; `setting`: what sets the limit.
  HangGuard(std::chrono::nanoseconds limit, std::string doing, std::string_view setting = kStallSetting);
  HangGuard(const HangLimit& limit, std::string doing);
  ~HangGuard() override;
  HangGuard(const HangGuard&) = delete;
  HangGuard& operator=(const HangGuard&) = delete;

  // The work moves on: the time starts anew. `call`, where there is one, is said behind what it is doing
  // until the next: "removing FILE". Any thread.
  void alive(std::string call = {});

 private:
  void about_to(std::string_view doing, const std::filesystem::path& path) override;
  void watch();
  [[noreturn]] void end_program() const;

  HangLimit limit_;
  std::string doing_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t moves_ = 0;
  std::string call_;
  bool done_ = false;
  std::jthread thread_;
};

}  // namespace ckptsim::simulator
