#pragma once

#include <filesystem>
#include <string_view>

namespace ckptsim::storage {

// Hears of the calls to the system that its thread makes on folders and files beside a target's requests
// (folders, locks, probes, the page cache), each before it is made: whoever watches the thread knows that it
// moves on, and what it waits for where it does not. Several may listen; all hear everything. Made, told and
// destroyed by one thread, in the order of scopes.
class CallListener {
 public:
  CallListener() : below_(top()) { top() = this; }
  virtual ~CallListener() { top() = below_; }
  CallListener(const CallListener&) = delete;
  CallListener& operator=(const CallListener&) = delete;

  // Tells all listeners of this thread: `doing` is "removing", `path` what is removed.
  static void tell(std::string_view doing, const std::filesystem::path& path) {
    for (CallListener* listener = top(); listener != nullptr; listener = listener->below_)
      listener->about_to(doing, path);
  }

 protected:
  virtual void about_to(std::string_view doing, const std::filesystem::path& path) = 0;

 private:
  static CallListener*& top() {
    static thread_local CallListener* listener = nullptr;
    return listener;
  }

  CallListener* below_;
};

}  // namespace ckptsim::storage
