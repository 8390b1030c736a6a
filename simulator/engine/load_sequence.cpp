#include "simulator/engine/load_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/invariant.h"
#include "simulator/engine/file_of_request.h"
#include "storage/errors.h"
#include "storage/torch/pickle_difference.h"
#include "storage/torch/pickle_record.h"
#include "storage/torch/zip_reader.h"

namespace ckptsim::simulator {
namespace {

namespace torch = storage::torch;
using storage::Completion;
using storage::Request;

std::string_view operation_name(Request::Kind kind) {
  if (kind == Request::Kind::kOpenToRead) return "open";
  return kind == Request::Kind::kClose ? "close" : "read";
}

// Where the record after this one begins, or the directory.
std::uint64_t end_of(const torch::ArchiveRecord& record, const std::vector<torch::ArchiveRecord>& records,
                     std::uint64_t directory_offset) {
  std::uint64_t end = directory_offset;
  for (const torch::ArchiveRecord& other : records) {
    if (other.header_offset > record.header_offset) end = std::min(end, other.header_offset);
  }
  return end;
}

}  // namespace

LoadSequence::LoadSequence(const std::vector<FileToLoad>& files, storage::Target& target,
                           const storage::Clock& clock, std::atomic<std::uint64_t>& read_bytes,
                           const std::atomic<bool>& stop)
    : files_(files),
      target_(target),
      clock_(clock),
      read_bytes_(read_bytes),
      stop_(stop),
      end_reads_(target),
      record_reads_(target) {}

void LoadSequence::start() {
  measurement_.phases.start(clock_.now(), LoadPhase::kOpen);
  if (files_.empty()) finish();
}

std::string LoadSequence::current_path() const {
  return files_.empty() ? std::string() : files_[std::min(file_, files_.size() - 1)].path;
}

LoadSequence::Status LoadSequence::advance() {
  while (step_ != Step::kFinished) {
    if (error_.has_value() || stop_.load(std::memory_order_relaxed)) return abandon();
    if (reading()) {
      if (read_on() == Status::kWaiting) return Status::kWaiting;
      continue;
    }
    if (!requested_) request_step();
    take_completions();
    if (requested_) return Status::kWaiting;
  }
  return Status::kDone;
}

void LoadSequence::complete(Completion completion) {
  if (completion.error) fail(completion);
  if (completion.kind == Request::Kind::kRead) {
    complete_read(std::move(completion));
    return;
  }
  requested_ = false;
  if (!completion.error) step_completed();
}

void LoadSequence::enter(Step step, LoadPhase phase) {
  step_ = step;
  if (phase != measurement_.phases.current()) measurement_.phases.switch_to(phase, clock_.now());
}

// One byte more than there should be is asked for: a file that is longer than it was is found out.
void LoadSequence::begin_reading() {
  enter(Step::kTail, LoadPhase::kMetadata);
  const std::uint64_t size = file().file_bytes;
  const int number = static_cast<int>(file_);
  window_.clear();
  position_ = 0;
  end_reads_.start(number, file().path, size, size - std::min(size, kTailBytes), size + 1);
  record_reads_.start(number, file().path, size, 0, size);
}

// Submits the single request of the steps that read nothing.
void LoadSequence::request_step() {
  Request request;
  request.file = static_cast<int>(file_);
  request.kind = step_ == Step::kOpen ? Request::Kind::kOpenToRead : Request::Kind::kClose;
  if (step_ == Step::kOpen) name_file(request, file().folder, file().path);
  requested_ = true;
  target_.submit(std::move(request));
}

void LoadSequence::step_completed() {
  if (step_ == Step::kOpen) {
    begin_reading();
    return;
  }
  require(step_ == Step::kClose, "the other steps have no single request");
  measurement_.file_bytes += file().file_bytes;
  if (++file_ < files_.size()) {
    enter(Step::kOpen, LoadPhase::kOpen);
  } else {
    finish();
  }
}

// Keeps the queue full, and in the time that leaves passes on what has come. Done: another step has begun.
LoadSequence::Status LoadSequence::read_on() {
  for (;;) {
    take_completions();
    if (error_.has_value() || stop_.load(std::memory_order_relaxed)) return Status::kDone;
    if (submit() || pass_on()) continue;
    if (error_.has_value()) return Status::kDone;
    if ((step_ == Step::kRecords ? record_reads_ : end_reads_).done()) {
      part_completed();
      return Status::kDone;
    }
    require(target_.transfers_in_flight() > 0, "a rank waits only for what is in flight");
    return Status::kWaiting;
  }
}

// One more read, of the file's end before its records. False: none now.
bool LoadSequence::submit() {
  OrderedReads* reads = nullptr;
  if (step_ != Step::kRecords && end_reads_.ready_to_submit()) {
    reads = &end_reads_;
  } else if (may_read_ahead() && record_reads_.ready_to_submit()) {
    reads = &record_reads_;
  }
  if (reads == nullptr) return false;
  if (in_read_phase() && target_.transfers_in_flight() == 0) {
    measurement_.idle_ns += (clock_.now() - idle_since_).count();
  }
  reads->submit();
  return true;
}

// Records that have come wait for the directory, and the directory needs buffers: of queue_depth + 2, two are
// left to it. Where reads are carried out inside submit() there are no more than that, and nothing is ahead.
bool LoadSequence::may_read_ahead() const {
  if (step_ == Step::kRecords) return true;
  return target_.queue_depth() > 1 && record_reads_.held() < target_.queue_depth();
}

void LoadSequence::complete_read(Completion completion) {
  if (target_.transfers_in_flight() == 0) idle_since_ = completion.completed;
  if (error_.has_value()) return;
  measurement_.read_bytes += completion.length;
  const bool of_records = record_reads_.owns(completion);
  if (of_records) {
    measurement_.latency.add((completion.completed - completion.submitted).count());
    ++measurement_.blocks;
    read_bytes_.fetch_add(completion.length, std::memory_order_relaxed);
  }
  try {
    (of_records ? record_reads_ : end_reads_).complete(std::move(completion));
  } catch (const storage::FormatError& error) {
    differs(error.what());
  }
}

// A piece of what has come: kept where it is the directory, checked where it is records. False: nothing is
// there.
bool LoadSequence::pass_on() {
  OrderedReads& reads = step_ == Step::kRecords ? record_reads_ : end_reads_;
  const std::span<const std::byte> bytes = reads.next(kPieceBytes);
  if (bytes.empty()) return false;
  if (step_ != Step::kRecords) {
    window_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } else {
    try {
      pass_records(bytes);
    } catch (const storage::FormatError& error) {
      differs(error.what());
      return false;
    }
  }
  reads.passed(bytes.size());
  return true;
}

// The pickle is kept as well, and read when all of it has come by.
void LoadSequence::pass_records(std::span<const std::byte> bytes) {
  const std::uint64_t begin = std::max(position_, contents_.records[pickle_].header_offset);
  const std::uint64_t end = std::min(position_ + bytes.size(), pickle_end_);
  if (begin < end) {
    const auto part = bytes.subspan(begin - position_, end - begin);
    window_.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  scan_->consume(bytes);
  position_ += bytes.size();
  if (!in_read_phase() && position_ >= pickle_end_) pickle_completed();
}

void LoadSequence::part_completed() {
  try {
    if (step_ == Step::kTail) {
      tail_completed();
    } else if (step_ == Step::kDirectory) {
      directory_completed();
    } else {
      records_completed();
    }
  } catch (const storage::FormatError& error) {
    differs(error.what());
  }
}

void LoadSequence::tail_completed() {
  const std::uint64_t size = file().file_bytes;
  directory_ = torch::find_directory(torch::WindowSource(file().path, size, end_reads_.begin(), window_));
  if (directory_.offset >= end_reads_.begin()) {
    directory_completed();
    return;
  }
  window_.clear();
  enter(Step::kDirectory, LoadPhase::kMetadata);
  end_reads_.start(static_cast<int>(file_), file().path, size, directory_.offset, size);
}

void LoadSequence::directory_completed() {
  const torch::WindowSource end(file().path, file().file_bytes, end_reads_.begin(), window_);
  contents_ = torch::read_directory(end, directory_);
  pickle_ = torch::pickle_record(end, contents_.records);
  pickle_end_ = end_of(contents_.records[pickle_], contents_.records, directory_.offset);
  scan_ = std::make_unique<torch::ArchiveScan>(file().path, contents_, directory_.offset);
  window_.clear();
  record_reads_.shorten(directory_.offset);
  enter(Step::kRecords, LoadPhase::kMetadata);
}

void LoadSequence::pickle_completed() {
  torch::ArchiveRecord& pickle = contents_.records[pickle_];
  const torch::WindowSource part(file().path, file().file_bytes, pickle.header_offset, window_);
  torch::read_local_header(part, directory_, contents_.root, pickle);
  const std::string difference =
      torch::pickle_difference(*file().spec, torch::read_pickle_record(part, contents_.records, pickle_));
  if (!difference.empty()) {
    part.fail(pickle.payload_offset, fmt::format("{}/{}: {}", contents_.root, pickle.name, difference));
  }
  window_.clear();
  enter(Step::kRecords, LoadPhase::kRead);
  idle_since_ = clock_.now();
}

void LoadSequence::records_completed() {
  require(scan_->complete() && in_read_phase(), "the directory begins behind the last record");
  measurement_.idle_ns += (clock_.now() - idle_since_).count();
  scan_.reset();
  enter(Step::kClose, LoadPhase::kClose);
}

void LoadSequence::take_completions() {
  Completion completion;
  while (target_.poll(completion))
    complete(std::move(completion));
}

void LoadSequence::fail(const Completion& completion) {
  if (error_.has_value()) return;
  error_ = LoadError{.operation = std::string(operation_name(completion.kind)),
                     .path = files_[static_cast<std::size_t>(completion.file)].path,
                     .offset = completion.offset,
                     .code = completion.error,
                     .difference = {}};
}

void LoadSequence::differs(const std::string& difference) {
  if (error_.has_value()) return;
  error_ =
      LoadError{.operation = "read", .path = file().path, .offset = 0, .code = {}, .difference = difference};
}

// After an error or a stop: what is in flight comes back before the sequence ends. Open files are the
// target's to close.
LoadSequence::Status LoadSequence::abandon() {
  take_completions();
  if (target_.pending() > 0) return Status::kWaiting;
  stopped_ = !error_.has_value();
  end_reads_.abandon();
  record_reads_.abandon();
  finish();
  return Status::kDone;
}

void LoadSequence::finish() {
  measurement_.phases.stop(clock_.now());
  step_ = Step::kFinished;
}

}  // namespace ckptsim::simulator
