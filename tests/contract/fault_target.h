#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <vector>

#include "storage/target/target.h"

namespace ckptsim::test {

// One thing that goes wrong with requests of a kind.
struct Fault {
  storage::Request::Kind kind = storage::Request::Kind::kWrite;
  std::size_t first = 1;               // the first of them that it meets, from 1
  std::size_t count = 1;               // how many it meets
  std::error_code error;               // not carried out, and this is its outcome
  std::function<void()> before;        // called first, on the target's thread
  std::chrono::milliseconds delay{0};  // carried out, and this much later
  bool hangs = false;                  // not carried out before release(); a transfer is in flight meanwhile
  std::optional<std::uint64_t> shorter;  // a write of this many bytes, which says that it was carried out
  bool lost = false;                     // not carried out, and said to be
};

[[nodiscard]] inline std::error_code system_error(int number) {
  return {number, std::system_category()};
}

// A target that forwards to a real one, of the same block size, alignment and clock, and follows a script of
// faults. submit() and what follows are one thread's; release() and count() may be called by another.
class FaultTarget final : public storage::Target {
 public:
  using Kind = storage::Request::Kind;

  FaultTarget(std::unique_ptr<storage::Target> real, const storage::Clock& clock, std::vector<Fault> script);
  ~FaultTarget() override;

  [[nodiscard]] storage::TargetFacts facts() const override { return real_->facts(); }

  void release();                                    // what hangs goes on
  [[nodiscard]] std::size_t count(Kind kind) const;  // asked for so far
  [[nodiscard]] bool all_buffers_are_back();         // none may be in the caller's hands

 private:
  bool do_submit(storage::Request& request, storage::Completion& completion) override;
  bool do_reap(bool block, storage::Completion& completion) override;

  [[nodiscard]] std::optional<Fault> fault_of(Kind kind);
  [[nodiscard]] storage::Completion carry_out(storage::Request& request,
                                              std::optional<std::uint64_t> shorter);
  void wait_for_release();

  struct Hanging {
    storage::Request request;
    storage::Completion completion;
  };

  std::unique_ptr<storage::Target> real_;
  std::vector<Fault> script_;
  std::deque<Hanging> hanging_;
  mutable std::mutex mutex_;
  std::condition_variable released_changed_;
  bool released_ = false;
  std::map<Kind, std::size_t> counts_;
};

}  // namespace ckptsim::test
