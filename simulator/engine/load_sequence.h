#pragma once

#include <fcntl.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "simulator/engine/latency_histogram.h"
#include "simulator/engine/ordered_reads.h"
#include "simulator/engine/phases.h"
#include "storage/target/target.h"
#include "storage/torch/archive_scan.h"
#include "storage/torch/file_spec.h"

namespace ckptsim::simulator {

// A file to be read back, and what was saved in it. `spec` outlives the sequence.
struct FileToLoad {
  std::string path;
  std::uint64_t file_bytes = 0;
  const storage::torch::FileSpec* spec = nullptr;
  // The open folder that it lies in: it is opened by the last component of its path. AT_FDCWD: by its path.
  int folder = AT_FDCWD;
};

// The first thing that went wrong on a rank: a call that failed, or, where `code` is empty, bytes that are
// not those that were saved.
struct LoadError {
  std::string operation;  // "open", "read", "close"
  std::string path;
  std::uint64_t offset = 0;
  std::error_code code;
  std::string difference;  // one sentence with path, offset and record
};

// What one rank measured in one load.
struct LoadMeasurement {
  LoadPhaseTimer phases;
  std::int64_t idle_ns = 0;      // inside read, nothing in flight because the software was not ready
  std::uint64_t file_bytes = 0;  // of the files that were read to their end
  std::uint64_t read_bytes =
      0;                     // that came from the target, metadata and what it shares blocks with included
  std::uint64_t blocks = 0;  // reads in the phase read
  LatencyHistogram latency;  // of these
};

// What a rank does to read a checkpoint's files back, written once: for each file open; metadata (the zip end
// record and directory from the tail, then data.pkl, held against what was saved); all records in order, each
// payload's CRC-32 checked as it arrives; close. The first blocks of records are under way while the tail is:
// data.pkl is in them. Driven like SaveSequence: advance() goes as far as it can, complete() takes what its
// driver waited for. It never blocks by itself.
class LoadSequence {
 public:
  // All references outlive the sequence. `read_bytes` and `stop`, shared with other threads, tell progress
  // and ask for an early end.
  LoadSequence(const std::vector<FileToLoad>& files, storage::Target& target, const storage::Clock& clock,
               std::atomic<std::uint64_t>& read_bytes, const std::atomic<bool>& stop);

  void start();  // the rank's clock starts

  enum class Status { kWaiting, kDone };
  Status advance();
  void complete(storage::Completion completion);

  // When kDone: empty after success. A sequence that was stopped has no error and stopped() is true.
  [[nodiscard]] const std::optional<LoadError>& error() const { return error_; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  // The file at hand; the last one after the end. Empty where there are none.
  [[nodiscard]] std::string current_path() const;
  [[nodiscard]] const LoadMeasurement& measurement() const { return measurement_; }

  // What is read of a file's end at once: the directory of all but files of hundreds of records.
  static constexpr std::uint64_t kTailBytes = std::uint64_t{64} << 10;
  // Small enough that completions are seen soon.
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

 private:
  enum class Step { kOpen, kTail, kDirectory, kRecords, kClose, kFinished };

  [[nodiscard]] const FileToLoad& file() const { return files_[file_]; }
  [[nodiscard]] bool reading() const { return step_ >= Step::kTail && step_ <= Step::kRecords; }
  [[nodiscard]] bool in_read_phase() const { return measurement_.phases.current() == LoadPhase::kRead; }
  void enter(Step step, LoadPhase phase);
  void begin_reading();
  void request_step();
  void step_completed();
  Status read_on();
  [[nodiscard]] bool submit();
  [[nodiscard]] bool may_read_ahead() const;
  void complete_read(storage::Completion completion);
  [[nodiscard]] bool pass_on();
  void pass_records(std::span<const std::byte> bytes);
  void part_completed();
  void tail_completed();
  void directory_completed();
  void pickle_completed();
  void records_completed();
  void take_completions();
  void fail(const storage::Completion& completion);
  void differs(const std::string& difference);
  Status abandon();
  void finish();

  const std::vector<FileToLoad>& files_;
  storage::Target& target_;
  const storage::Clock& clock_;
  std::atomic<std::uint64_t>& read_bytes_;
  const std::atomic<bool>& stop_;

  Step step_ = Step::kOpen;
  bool requested_ = false;  // the step's single request is under way
  std::size_t file_ = 0;
  OrderedReads end_reads_;  // the tail, and the rest of the directory
  OrderedReads record_reads_;
  std::string window_;  // metadata: the directory, or the pickle's record from its header on
  storage::torch::ZipDirectory directory_;
  storage::torch::ZipContents contents_;
  std::size_t pickle_ = 0;  // which of the records
  std::uint64_t pickle_end_ = 0;
  std::uint64_t position_ = 0;  // of the records, checked up to here
  std::unique_ptr<storage::torch::ArchiveScan> scan_;
  storage::Clock::Time idle_since_{};
  std::optional<LoadError> error_;
  bool stopped_ = false;
  LoadMeasurement measurement_;
};

}  // namespace ckptsim::simulator
