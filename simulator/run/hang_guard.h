#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "simulator/run/stall_words.h"

namespace ckptsim::simulator {

// Stands beside work of the main thread on a drive (a manifest, the journal) that may never return. Where it
// takes as long as the limit the program is ended from here, with exit code 4, a sentence on stderr that
// says what it was doing, and no destructors; the launcher ends the other processes. A limit of zero: never.
class HangGuard {
 public:
  // `doing`: "writing the manifest of checkpoint 2"; `setting`: what sets the limit.
  HangGuard(std::chrono::nanoseconds limit, std::string doing, std::string_view setting = kStallSetting);
  ~HangGuard();
  HangGuard(const HangGuard&) = delete;
  HangGuard& operator=(const HangGuard&) = delete;

 private:
  void watch();

  std::chrono::nanoseconds limit_;
  std::string doing_;
  std::string setting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::optional<std::thread> thread_;
};

}  // namespace ckptsim::simulator
