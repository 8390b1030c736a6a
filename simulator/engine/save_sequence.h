#pragma once

#include <fcntl.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "simulator/engine/block_producer.h"
#include "simulator/engine/busy_intervals.h"
#include "simulator/engine/latency_histogram.h"
#include "simulator/engine/phases.h"
#include "storage/target/target.h"

namespace ckptsim::simulator {

enum class FsyncPolicy { kFile, kEnd, kOff };

// How a rank writes its files.
struct SaveSettings {
  FsyncPolicy fsync = FsyncPolicy::kFile;
  storage::OpenMode open_mode = storage::OpenMode::kNew;
  bool preallocate = false;
  // The open folder that all files lie in: they are opened by the last component of their paths. AT_FDCWD:
  // by their paths.
  int folder = AT_FDCWD;
  // Making a piece can take any time (whole tensors): a write that is found completed after it counts as
  // completed before it, so that idle_ns is too long rather than too short.
  bool long_steps = false;
  bool profile = false;  // times making and submission: two looks at the clock for every piece
};

// One file as the sequence needs it: where it goes and how long it will be.
struct PlannedFile {
  std::string path;
  std::uint64_t file_bytes = 0;
};

// The first thing that went wrong on a rank.
struct SaveError {
  std::string operation;  // "write"
  std::string path;
  std::uint64_t offset = 0;
  std::error_code code;
};

// What a rank's thread did inside `write`, where it was asked for.
struct WriteProfile {
  std::int64_t making_ns = 0;  // content, CRCs and zip structure
  std::int64_t submission_ns =
      0;  // handing blocks to the target; with synchronous backends, the write itself
};

// What one rank measured in one checkpoint.
struct SaveMeasurement {
  PhaseTimer phases;
  std::int64_t idle_ns = 0;  // inside write, nothing in flight because the software was not ready
  std::int64_t depth_integral_ns =
      0;                            // sum of block latencies: over a duration, the time-weighted mean depth
  std::uint64_t file_bytes = 0;     // true bytes whose writes completed
  std::uint64_t padding_bytes = 0;  // zeros written after them by direct I/O
  std::uint64_t blocks = 0;
  std::uint64_t sync_calls = 0;
  WriteProfile profile;
  LatencyHistogram latency;
  BusyIntervals busy;
};

// What a rank does in a checkpoint, written once: for each file create, blocks, true length, sync, close, and
// at the end the directory's fsync. A resumable sequence of requests: advance() goes as far as it can and
// says whether it waits for a completion; whoever drives it (a thread on a real clock, an event loop on a
// virtual one) delivers that through complete() and calls advance() again. It never blocks by itself.
class SaveSequence {
 public:
  // All references outlive the sequence. `directory` is fsynced at the end; `written_bytes` and `stop`,
  // shared with other threads, tell progress and ask for an early end.
  SaveSequence(const SaveSettings& settings, std::string directory, const std::vector<PlannedFile>& files,
               BlockProducer& producer, storage::Target& target, const storage::Clock& clock,
               std::atomic<std::uint64_t>& written_bytes, const std::atomic<bool>& stop);

  void start();  // the rank's clock starts

  enum class Status { kWaiting, kDone };
  Status advance();
  void complete(storage::Completion completion);

  // When kDone: empty after success. A sequence that was stopped has no error and stopped() is true.
  [[nodiscard]] const std::optional<SaveError>& error() const { return error_; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  // The file at hand, or the folder where there is none.
  [[nodiscard]] const std::string& current_path() const {
    return file_ < files_.size() ? files_[file_].path : directory_;
  }
  [[nodiscard]] const SaveMeasurement& measurement() const { return measurement_; }

 private:
  enum class Step { kOpen, kPreallocate, kWrite, kSetLength, kSync, kClose, kSyncDirectory, kFinished };

  void enter(Step step, Phase phase);
  void request_step();
  void step_completed();
  void begin_writing();
  Status write_blocks();
  void after_last_block();
  void after_data();
  void after_close();
  [[nodiscard]] bool produce();
  void submit(StagedBlock block);
  void complete_write(const storage::Completion& completion);
  void take_completions();
  [[nodiscard]] storage::Clock::Time ended(const storage::Completion& completion) const;
  void fail(const storage::Completion& completion);
  Status abandon();
  void finish();

  SaveSettings settings_;
  std::string directory_;
  const std::vector<PlannedFile>& files_;
  BlockProducer& producer_;
  storage::Target& target_;
  const storage::Clock& clock_;
  std::atomic<std::uint64_t>& written_bytes_;
  const std::atomic<bool>& stop_;

  Step step_ = Step::kOpen;
  bool requested_ = false;       // the step's single request is under way
  bool closing_at_end_ = false;  // fsync "end": all files are written, now synced and closed one by one
  std::size_t file_ = 0;
  bool all_submitted_ = false;  // of the current file
  std::uint64_t padded_end_ = 0;
  storage::Clock::Time idle_since_{};
  storage::Clock::Time busy_since_{};
  std::optional<storage::Clock::Time> unseen_since_;  // completions may be as old as this: long_steps alone
  std::optional<SaveError> error_;
  bool stopped_ = false;
  SaveMeasurement measurement_;
};

}  // namespace ckptsim::simulator
