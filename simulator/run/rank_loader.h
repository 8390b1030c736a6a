#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/config/run_config.h"
#include "simulator/engine/failure.h"
#include "simulator/engine/load_sequence.h"
#include "simulator/engine/thread_times.h"
#include "simulator/run/load_result.h"
#include "storage/target/folder_calls.h"
#include "storage/target/target.h"
#include "storage/torch/file_spec.h"

namespace ckptsim::simulator {

// One checkpoint to be read back.
struct LoadJob {
  std::uint64_t ordinal = 0;  // of its save, over the whole run, from 0
};

// The reading half of a rank: the files of `read_rank` (its own, or another's), through its own target.
class RankLoader {
 public:
  // Works out the files and their sizes. All references outlive the loader.
  RankLoader(const RunConfig& config, long read_rank, storage::Target& target, const storage::Clock& clock);

  [[nodiscard]] long read_rank() const { return read_rank_; }

  // The files of the checkpoint in that folder, opened relative to it from now on. Where the target reads
  // through the page cache, drops what that holds of them; counts what is left in any case. Throws
  // std::system_error.
  void drop_cached_pages(storage::Folder folder);

  // After drop_cached_pages(). `read_bytes` and `stop` are shared by the process's ranks.
  void prepare(const LoadJob& job, std::atomic<std::uint64_t>& read_bytes, const std::atomic<bool>& stop);

  // The sequence on a real clock, from its start to its end. The failure that ended it, without host and
  // rank.
  [[nodiscard]] std::optional<Failure> run();

  [[nodiscard]] bool stopped() const { return sequence_->stopped(); }  // asked to, before its end

  // Without rank and host.
  [[nodiscard]] RankLoad measured() const;

 private:
  [[nodiscard]] std::optional<Failure> drive();

  long read_rank_;
  storage::Target& target_;
  const storage::Clock& clock_;
  bool through_page_cache_;
  storage::Folder folder_;
  std::vector<storage::torch::FileSpec> specs_;
  std::vector<FileToLoad> files_;
  std::uint64_t payload_bytes_ = 0;
  std::optional<std::uint64_t> cached_bytes_ = 0;
  std::unique_ptr<LoadSequence> sequence_;
  std::int64_t cpu_ns_ = 0;
  std::int64_t cpu_wait_ns_ = -1;
};

}  // namespace ckptsim::simulator
