#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace ckptsim::simulator {

// The system's error as one that says what the thread was for, and what to do.
[[noreturn]] void refuse_thread(const std::system_error& error, const std::string& purpose);

// A thread "to listen for signals": std::system_error with that purpose where the system has none to give.
template <typename Work>
[[nodiscard]] std::jthread started_thread(const std::string& purpose, Work&& work) {
  try {
    return std::jthread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    refuse_thread(error, purpose);
  }
}

}  // namespace ckptsim::simulator
