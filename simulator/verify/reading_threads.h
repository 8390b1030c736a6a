#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "simulator/verify/examination.h"
#include "simulator/verify/file_verifier.h"
#include "storage/target/make_target.h"

namespace ckptsim::simulator {

// The threads of one process that read files, each with a target of its own that is kept from checkpoint to
// checkpoint.
class ReadingThreads {
 public:
  ReadingThreads(std::size_t threads, const storage::Clock& clock) : threads_(threads), clock_(clock) {}

  // Verifies the files with these numbers, counted through the examination's manifests. Calls `tick` every 50
  // ms or so on the caller's thread. Returns the outcomes by number: of no use once the process was asked to
  // end, which stops all threads within a block. Throws what a thread threw, once all have ended.
  [[nodiscard]] std::map<std::size_t, FileOutcome> verify(const Examination& examination,
                                                          const storage::Folder& checkpoint,
                                                          const std::vector<std::size_t>& files,
                                                          std::atomic<std::uint64_t>& read_bytes,
                                                          const Interruption& interruption,
                                                          const std::function<void()>& tick);

  // What each thread's target is busy with, for `tick`; it stays until the next verify().
  [[nodiscard]] std::size_t targets() const { return targets_.size(); }
  [[nodiscard]] const storage::TargetActivity& activity(std::size_t target) const {
    return targets_[target]->activity();
  }

 private:
  void prepare_targets(const Examination& examination, std::size_t count);

  std::size_t threads_;
  const storage::Clock& clock_;
  std::vector<std::unique_ptr<storage::Target>> targets_;
  storage::Backend backend_ = storage::Backend::kNull;  // of targets_
  std::uint64_t io_alignment_ = 0;
};

}  // namespace ckptsim::simulator
