#include "simulator/engine/save_sequence.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/invariant.h"
#include "simulator/engine/file_of_request.h"

namespace ckptsim::simulator {
namespace {

using storage::Completion;
using storage::Request;

std::string_view operation_name(Request::Kind kind) {
  switch (kind) {
    case Request::Kind::kOpen:
      return "create";
    case Request::Kind::kOpenToRead:
      return "open";
    case Request::Kind::kPreallocate:
      return "preallocate";
    case Request::Kind::kWrite:
      return "write";
    case Request::Kind::kRead:
      return "read";
    case Request::Kind::kSetLength:
      return "set the length of";
    case Request::Kind::kSync:
    case Request::Kind::kSyncDirectory:
      return "fsync";
    case Request::Kind::kClose:
      return "close";
  }
  return "use";
}

}  // namespace

SaveSequence::SaveSequence(const SaveSettings& settings, std::string directory,
                           const std::vector<PlannedFile>& files, BlockProducer& producer,
                           storage::Target& target, const storage::Clock& clock,
                           std::atomic<std::uint64_t>& written_bytes, const std::atomic<bool>& stop)
    : settings_(settings),
      directory_(std::move(directory)),
      files_(files),
      producer_(producer),
      target_(target),
      clock_(clock),
      written_bytes_(written_bytes),
      stop_(stop) {}

void SaveSequence::start() {
  measurement_.phases.start(clock_.now(), Phase::kCreate);
  if (files_.empty()) finish();
}

SaveSequence::Status SaveSequence::advance() {
  while (step_ != Step::kFinished) {
    if (error_.has_value() || stop_.load(std::memory_order_relaxed)) return abandon();
    if (step_ == Step::kWrite) {
      if (write_blocks() == Status::kWaiting) return Status::kWaiting;
      continue;
    }
    if (!requested_) request_step();
    take_completions();
    if (requested_) return Status::kWaiting;
  }
  return Status::kDone;
}

void SaveSequence::complete(Completion completion) {
  if (completion.error) fail(completion);
  if (completion.kind == Request::Kind::kWrite) {
    complete_write(completion);
    return;
  }
  requested_ = false;
  if (!completion.error) step_completed();
}

void SaveSequence::enter(Step step, Phase phase) {
  step_ = step;
  if (phase != measurement_.phases.current()) measurement_.phases.switch_to(phase, clock_.now());
}

// Submits the single request of every step but kWrite.
void SaveSequence::request_step() {
  Request request;
  request.file = static_cast<int>(file_);
  switch (step_) {
    case Step::kOpen:
      request.kind = Request::Kind::kOpen;
      name_file(request, settings_.folder, files_[file_].path);
      request.mode = settings_.open_mode;
      break;
    case Step::kPreallocate:
      request.kind = Request::Kind::kPreallocate;
      request.length = files_[file_].file_bytes;
      break;
    case Step::kSetLength:
      request.kind = Request::Kind::kSetLength;
      request.length = files_[file_].file_bytes;
      break;
    case Step::kSync:
      request.kind = Request::Kind::kSync;
      ++measurement_.sync_calls;
      break;
    case Step::kClose:
      request.kind = Request::Kind::kClose;
      break;
    case Step::kSyncDirectory:
      request.kind = Request::Kind::kSyncDirectory;
      request.folder = settings_.folder;
      request.path = settings_.folder == AT_FDCWD ? directory_ : ".";
      ++measurement_.sync_calls;
      break;
    case Step::kWrite:
    case Step::kFinished:
      require(false, "these steps have no single request");
  }
  requested_ = true;
  target_.submit(std::move(request));
}

void SaveSequence::step_completed() {
  switch (step_) {
    case Step::kOpen:
      if (settings_.preallocate) {
        enter(Step::kPreallocate, Phase::kPreallocate);
      } else {
        begin_writing();
      }
      return;
    case Step::kPreallocate:
      begin_writing();
      return;
    case Step::kSetLength:
      after_data();
      return;
    case Step::kSync:
      enter(Step::kClose, Phase::kClose);
      return;
    case Step::kClose:
      after_close();
      return;
    case Step::kSyncDirectory:
      finish();
      return;
    case Step::kWrite:
    case Step::kFinished:
      require(false, "these steps have no single request");
  }
}

void SaveSequence::begin_writing() {
  enter(Step::kWrite, Phase::kWrite);
  all_submitted_ = false;
  idle_since_ = clock_.now();
}

// Keeps the queue full. In the time that leaves, makes more blocks, a piece at a time so that completions are
// seen when they happen. Done: all blocks of the file are on the drive's side.
SaveSequence::Status SaveSequence::write_blocks() {
  for (;;) {
    take_completions();
    if (error_.has_value() || stop_.load(std::memory_order_relaxed)) return Status::kDone;
    if (all_submitted_ && target_.transfers_in_flight() == 0) {
      after_last_block();
      return Status::kDone;
    }
    if (!all_submitted_ && target_.transfers_in_flight() < target_.queue_depth()) {
      if (std::optional<StagedBlock> block = producer_.take(file_)) {
        submit(std::move(*block));
        continue;
      }
    }
    if (produce()) continue;
    require(target_.transfers_in_flight() > 0, "a rank waits only for what is in flight");
    return Status::kWaiting;
  }
}

bool SaveSequence::produce() {
  const bool timed = settings_.long_steps || settings_.profile;
  const storage::Clock::Time began = timed ? clock_.now() : storage::Clock::Time{};
  const bool produced = producer_.produce(target_);
  if (settings_.profile) measurement_.profile.making_ns += (clock_.now() - began).count();
  if (settings_.long_steps && produced) {
    unseen_since_ = began;
    take_completions();
    unseen_since_.reset();
  }
  return produced;
}

// When the drive was done with a write, as early as it can have been.
storage::Clock::Time SaveSequence::ended(const Completion& completion) const {
  return unseen_since_.has_value() ? std::max(*unseen_since_, completion.submitted) : completion.completed;
}

void SaveSequence::submit(StagedBlock block) {
  const storage::Clock::Time now = clock_.now();
  if (target_.transfers_in_flight() == 0) {
    measurement_.idle_ns += (now - idle_since_).count();
    busy_since_ = now;
  }
  all_submitted_ = block.last;
  padded_end_ = block.offset + block.padded_length;

  Request request;
  request.kind = Request::Kind::kWrite;
  request.file = static_cast<int>(block.file);
  request.offset = block.offset;
  request.length = block.padded_length;
  request.buffer = std::move(block.buffer);
  target_.submit(std::move(request));
  if (settings_.profile) measurement_.profile.submission_ns += (clock_.now() - now).count();
}

void SaveSequence::complete_write(const Completion& completion) {
  const std::int64_t latency_ns = (completion.completed - completion.submitted).count();
  measurement_.depth_integral_ns += latency_ns;
  if (target_.transfers_in_flight() == 0) {
    idle_since_ = ended(completion);
    const storage::Clock::Time origin = measurement_.phases.started();
    measurement_.busy.add({(busy_since_ - origin).count(), (idle_since_ - origin).count()});
  }
  if (completion.error) return;
  const std::uint64_t file_bytes = files_[static_cast<std::size_t>(completion.file)].file_bytes;
  const std::uint64_t true_bytes = std::min(completion.length, file_bytes - completion.offset);
  measurement_.latency.add(latency_ns);
  measurement_.file_bytes += true_bytes;
  measurement_.padding_bytes += completion.length - true_bytes;
  ++measurement_.blocks;
  written_bytes_.fetch_add(true_bytes, std::memory_order_relaxed);
}

void SaveSequence::after_last_block() {
  // A file that is overwritten in place may have been longer before.
  const bool length_differs = padded_end_ != files_[file_].file_bytes;
  if (length_differs || settings_.open_mode == storage::OpenMode::kOverwrite) {
    enter(Step::kSetLength, Phase::kWrite);
  } else {
    after_data();
  }
}

void SaveSequence::after_data() {
  switch (settings_.fsync) {
    case FsyncPolicy::kFile:
      enter(Step::kSync, Phase::kSync);
      return;
    case FsyncPolicy::kOff:
      enter(Step::kClose, Phase::kClose);
      return;
    case FsyncPolicy::kEnd:
      if (++file_ < files_.size()) {
        enter(Step::kOpen, Phase::kCreate);
        return;
      }
      file_ = 0;
      closing_at_end_ = true;
      enter(Step::kSync, Phase::kSync);
      return;
  }
}

void SaveSequence::after_close() {
  if (++file_ < files_.size()) {
    if (closing_at_end_) {
      enter(Step::kSync, Phase::kSync);
    } else {
      enter(Step::kOpen, Phase::kCreate);
    }
    return;
  }
  if (settings_.fsync == FsyncPolicy::kOff) {
    finish();
  } else {
    enter(Step::kSyncDirectory, Phase::kDirectorySync);
  }
}

void SaveSequence::take_completions() {
  Completion completion;
  while (target_.poll(completion))
    complete(std::move(completion));
}

void SaveSequence::fail(const Completion& completion) {
  if (error_.has_value()) return;
  const bool directory = completion.kind == Request::Kind::kSyncDirectory;
  error_ = SaveError{.operation = std::string(operation_name(completion.kind)),
                     .path = directory ? directory_ : files_[static_cast<std::size_t>(completion.file)].path,
                     .offset = completion.offset,
                     .code = completion.error};
}

// After an error or a stop: what is in flight comes back before the sequence ends. Open files are the
// target's to close.
SaveSequence::Status SaveSequence::abandon() {
  take_completions();
  if (target_.pending() > 0) return Status::kWaiting;
  stopped_ = !error_.has_value();
  finish();
  return Status::kDone;
}

void SaveSequence::finish() {
  measurement_.phases.stop(clock_.now());
  step_ = Step::kFinished;
}

}  // namespace ckptsim::simulator
