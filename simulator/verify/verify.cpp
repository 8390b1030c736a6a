#include "simulator/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "simulator/communicator/packing.h"
#include "simulator/run/backend_choice.h"
#include "simulator/run/hang_guard.h"
#include "simulator/run/stall_watch.h"
#include "simulator/run/stall_words.h"
#include "simulator/verify/checkpoint_parts.h"
#include "simulator/verify/checkpoint_search.h"
#include "simulator/verify/examination.h"
#include "simulator/verify/reading_threads.h"
#include "simulator/verify/work_division.h"
#include "storage/errors.h"
#include "storage/text/printable.h"

namespace ckptsim::simulator {
namespace {

constexpr std::string_view kVerifyStallSetting = "--stall-seconds";

std::string outcome_to_text(std::size_t number, const FileOutcome& outcome) {
  std::vector<std::string> findings;
  for (const Finding& finding : outcome.findings)
    findings.push_back(finding_to_text(finding));
  return pack({std::to_string(number), std::to_string(outcome.more_ranges),
               std::to_string(outcome.wrong_bytes), std::to_string(outcome.unreadable_bytes), pack(findings),
               outcome.cached_bytes ? std::to_string(*outcome.cached_bytes) : ""});
}

std::pair<std::size_t, FileOutcome> outcome_from_text(const std::string& text) {
  const std::vector<std::string> field = unpack(text);
  FileOutcome outcome{.findings = {},
                      .more_ranges = std::stoull(field.at(1)),
                      .wrong_bytes = std::stoull(field.at(2)),
                      .unreadable_bytes = std::stoull(field.at(3))};
  outcome.cached_bytes = field.at(5).empty() ? std::nullopt : std::optional(std::stoull(field.at(5)));
  for (const std::string& finding : unpack(field.at(4)))
    outcome.findings.push_back(finding_from_text(finding));
  return {std::stoull(field.at(0)), std::move(outcome)};
}

std::string backend_name(storage::Backend backend) {
  if (backend == storage::Backend::kBuffered) return "buffered";
  return backend == storage::Backend::kDirect ? "direct" : "io_uring";
}

class Verification {
 public:
  Verification(Communicator& communicator, const VerifyRequest& request, Progress& progress,
               Interruption& interruption)
      : communicator_(communicator),
        request_(request),
        progress_(progress),
        interruption_(interruption),
        threads_(request.threads, clock_),
        read_by_process_(static_cast<std::size_t>(communicator.processes())) {
    communicator_.while_waiting([this] { listen(); });
  }
  ~Verification() { communicator_.while_waiting({}); }
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;

  VerifyResult execute() {
    choice_ = choose_backend(communicator_, request_.backend);
    wanted_ = communicator_.broadcast(progress_.wanted() ? "1" : "0") == "1";
    result_.processes = communicator_.processes();
    result_.threads = request_.threads;
    result_.all = request_.all;
    result_.parts = request_.parts;
    find();
    const auto count = std::stoull(communicator_.broadcast(std::to_string(complete_.size())));
    complete_.resize(count);
    for (ordinal_ = 0; ordinal_ < count; ++ordinal_)
      one_checkpoint(complete_[ordinal_]);
    progress_.end_run();
    judge_parts();
    return std::move(result_);
  }

 private:
  // Process 0 looks, and holds the locks until the end.
  void find() {
    together(communicator_, ExitCode::kInputOutput, [&] {
      if (communicator_.process() != 0) return;
      const HangGuard guard(stall_limit(), "looking for checkpoints", kVerifyStallSetting);
      for (const std::string& folder : request_.folders)
        look_into(folder);
      std::set<std::string> seen;
      for (const FoundCheckpoint& found : search_.checkpoints) {
        if (!seen.insert(std::filesystem::canonical(found.path()).string()).second) continue;
        if (found.manifests.empty()) {
          result_.incomplete.push_back(found.path());
        } else {
          complete_.push_back(found);
        }
      }
      if (complete_.empty()) refuse_nothing();
    });
  }

  // Of several folders, one with nothing to verify does not keep the others from being verified.
  void look_into(const std::string& folder) {
    SearchResult found;
    try {
      find_checkpoints(folder, found);
    } catch (const storage::UnsuitableTarget& refusal) {
      if (request_.folders.size() == 1) throw;
      result_.not_verified.emplace_back(refusal.what());
      return;
    }
    const bool any = std::any_of(found.checkpoints.begin(), found.checkpoints.end(),
                                 [](const FoundCheckpoint& one) { return !one.manifests.empty(); });
    if (!any) result_.not_verified.push_back(fmt::format("{} holds no complete checkpoint", folder));
    std::move(found.checkpoints.begin(), found.checkpoints.end(), std::back_inserter(search_.checkpoints));
    std::move(found.locks.begin(), found.locks.end(), std::back_inserter(search_.locks));
  }

  [[noreturn]] void refuse_nothing() const {
    if (result_.incomplete.empty() && request_.folders.size() > 1) {
      throw storage::UnsuitableTarget(
          fmt::format("there is nothing to verify: {}", fmt::join(result_.not_verified, "; ")));
    }
    const std::string folders = fmt::format("{}", fmt::join(request_.folders, ", "));
    throw storage::UnsuitableTarget(
        result_.incomplete.empty()
            ? fmt::format("{} holds no checkpoint; write some with ckptsim run, or name another folder",
                          folders)
            : fmt::format("{} holds no complete checkpoint, and {} without a manifest, which a run did not "
                          "finish; there is nothing to verify",
                          folders, result_.incomplete.size()));
  }

  void one_checkpoint(const FoundCheckpoint& found) {
    std::fill(read_by_process_.begin(), read_by_process_.end(), 0);
    Examination examination;
    std::string message;
    together(communicator_, ExitCode::kInputOutput, [&] {
      if (communicator_.process() != 0) return;
      const HangGuard guard(stall_limit(), fmt::format("reading the manifest in {}", found.path()),
                            kVerifyStallSetting);
      examination = examine(found, choice_, request_.backend);
      message = examination_to_text(examination);
    });
    message = communicator_.broadcast(std::move(message));
    storage::Folder folder;
    together(communicator_, ExitCode::kInputOutput, [&] {
      if (communicator_.process() != 0) examination = examination_from_text(message);
      if (!examination.manifests.empty()) folder = open_checkpoint(examination.found);
    });
    message.clear();
    begin(examination);
    communicator_.barrier();
    const storage::Clock::Time start = clock_.now();
    std::map<std::size_t, FileOutcome> outcomes;
    together(communicator_, ExitCode::kInputOutput, [&] { outcomes = read(examination, folder); });
    stop_where_asked();
    const double seconds = std::chrono::duration<double>(clock_.now() - start).count();
    gather(outcomes, seconds);
    progress_.end_checkpoint();
  }

  void begin(const Examination& examination) {
    if (communicator_.process() != 0) return;
    VerifiedCheckpoint& checkpoint = result_.checkpoints.emplace_back();
    checkpoint.path = examination.found.path();
    checkpoint.findings = examination.findings;
    checkpoint.backend = backend_name(examination.backend);
    checkpoint.backend_reason = examination.backend_reason;
    checkpoint.uncompared_files = examination.uncompared_files;
    checkpoint.uncompared_bytes = examination.uncompared_bytes;
    checkpoint.page_cache_seen = examination.page_cache_seen;
    for (const Manifest& manifest : examination.manifests) {
      checkpoint.name = manifest.name;
      checkpoint.pass = manifest.pass;
      checkpoint.warmup = manifest.warmup;
      checkpoint.checkpoint = manifest.checkpoint;
      checkpoint.part = manifest.part.part;
      checkpoint.parts = manifest.part.parts;
      parts_.add(result_.checkpoints.size() - 1, checkpoint.path, manifest);
      checkpoint.files += manifest.files.size();
      for (const ManifestFile& file : manifest.files)
        checkpoint.file_bytes += file.file_bytes;
    }
    // The others are as large, nearly always.
    if (ordinal_ == 0) progress_.begin_run(complete_.size(), checkpoint.file_bytes, 0, 0, 0);
    progress_.begin_checkpoint(checkpoint.pass, checkpoint.warmup, checkpoint.checkpoint);
  }

  std::map<std::size_t, FileOutcome> read(const Examination& examination, const storage::Folder& folder) {
    std::vector<std::uint64_t> sizes;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < examination.found_bytes.size(); ++i) {
      if (!examination.found_bytes[i]) continue;
      numbers.push_back(i);
      sizes.push_back(*examination.found_bytes[i]);
    }
    const auto shares = divide_work(sizes, static_cast<std::size_t>(communicator_.processes()));
    std::vector<std::size_t> mine;
    for (const std::size_t item : shares[static_cast<std::size_t>(communicator_.process())])
      mine.push_back(numbers[item]);
    std::atomic<std::uint64_t> read_bytes{0};
    StallWatch stalls(stall_limit(), clock_, request_.threads);
    return threads_.verify(examination, folder, mine, read_bytes, interruption_, [&] {
      end_where_stalled(stalls);
      listen();
      if (wanted_) tell_progress(read_bytes);
    });
  }

  [[nodiscard]] std::chrono::nanoseconds stall_limit() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(request_.stall_seconds));
  }

  // The thread may be stuck in the kernel for ever, so that nobody can wait for it.
  void end_where_stalled(StallWatch& stalls) {
    stalls.look();
    for (std::size_t i = 0; i < threads_.targets(); ++i) {
      const auto waiting = stalls.stalled_call(i, threads_.activity(i));
      if (!waiting.has_value()) continue;
      const std::string sentence =
          stall_sentence(*waiting, stalls.limit(), clock_.now(), kVerifyStallSetting);
      fmt::print(stderr, "ckptsim: on {}: {}\n", host_name(), storage::printable(sentence));
      std::fflush(stderr);
      communicator_.abort(static_cast<int>(ExitCode::kInputOutput));
    }
  }

  // What other processes tell, and that this one was asked to end.
  void listen() {
    while (const std::optional<SideMessage> message = communicator_.poll()) {
      if (message->kind == SideMessage::Kind::kInterruption) {
        interruption_.ask(static_cast<int>(message->value));
      } else if (message->checkpoint == ordinal_) {
        read_by_process_[static_cast<std::size_t>(message->process)] = message->value;
      }
    }
    if (!interruption_.asked() || interruption_passed_on_) return;
    pass_on(communicator_, interruption_);
    interruption_passed_on_ = true;
  }

  // Process 0, which speaks, knows how far all had come.
  void stop_where_asked() {
    try {
      simulator::stop_where_asked(communicator_, interruption_);
    } catch (const RunFailure& failure) {
      progress_.end_run();
      const auto right = std::count_if(result_.checkpoints.begin(), result_.checkpoints.end(),
                                       [this](const VerifiedCheckpoint& checkpoint) {
                                         return &checkpoint != &result_.checkpoints.back() &&
                                                !checkpoint.is_wrong() && !checkpoint.has_read_error();
                                       });
      throw RunFailure(
          failure.code(),
          fmt::format("{}; {} of {} checkpoints had been verified{}", failure.what(), ordinal_,
                      complete_.size(), ordinal_ > 0 ? fmt::format(", {} of them right", right) : ""));
    }
  }

  void tell_progress(std::uint64_t read_bytes) {
    const auto checkpoint = static_cast<std::uint32_t>(ordinal_);
    if (communicator_.process() != 0) {
      communicator_.post(0, {.kind = SideMessage::Kind::kProgress,
                             .checkpoint = checkpoint,
                             .process = communicator_.process(),
                             .value = read_bytes});
      return;
    }
    read_by_process_[0] = read_bytes;
    progress_.written(std::accumulate(read_by_process_.begin(), read_by_process_.end(), std::uint64_t{0}));
  }

  // In order of the manifest, whoever read what.
  void gather(const std::map<std::size_t, FileOutcome>& mine, double seconds) {
    std::vector<std::string> texts;
    for (const auto& [number, outcome] : mine) {
      if (!outcome.findings.empty() || outcome.cached_bytes != std::uint64_t{0})
        texts.push_back(outcome_to_text(number, outcome));
    }
    std::map<std::size_t, FileOutcome> all;
    for (const std::string& part : communicator_.gather(pack(texts), 0)) {
      for (const std::string& text : unpack(part))
        all.insert(outcome_from_text(text));
    }
    if (communicator_.process() != 0) return;
    VerifiedCheckpoint& checkpoint = result_.checkpoints.back();
    checkpoint.seconds = seconds;
    for (auto& [number, outcome] : all) {
      checkpoint.more_ranges += outcome.more_ranges;
      checkpoint.wrong_bytes += outcome.wrong_bytes;
      checkpoint.unreadable_bytes += outcome.unreadable_bytes;
      checkpoint.cached_bytes = sum_of_known(checkpoint.cached_bytes, outcome.cached_bytes);
      for (Finding& finding : outcome.findings)
        checkpoint.findings.push_back(std::move(finding));
    }
    std::set<std::string> wrong;
    for (const Finding& finding : checkpoint.findings) {
      if (finding.is_read_error()) continue;
      wrong.insert(finding.file);
      if (finding.kind != "bytes") checkpoint.wrong_bytes += finding.wrong_bytes;
    }
    checkpoint.wrong_files = wrong.size();
  }

  void judge_parts() {
    for (std::size_t i = 0; i < result_.checkpoints.size(); ++i)
      result_.checkpoints[i].complete = parts_.complete(i);
    result_.missing_parts = parts_.missing();
  }

  Communicator& communicator_;
  const VerifyRequest& request_;
  Progress& progress_;
  Interruption& interruption_;
  bool interruption_passed_on_ = false;
  storage::SteadyClock clock_;
  ReadingThreads threads_;
  BackendChoice choice_;
  bool wanted_ = false;
  SearchResult search_;                    // on process 0, with the locks
  std::vector<FoundCheckpoint> complete_;  // on process 0; as many empty ones elsewhere
  std::size_t ordinal_ = 0;
  std::vector<std::uint64_t> read_by_process_;
  CheckpointParts parts_;  // on process 0, by number in result_.checkpoints
  VerifyResult result_;
};

}  // namespace

std::optional<std::uint64_t> sum_of_known(const std::optional<std::uint64_t>& left,
                                          const std::optional<std::uint64_t>& right) {
  if (!left || !right) return std::nullopt;
  return *left + *right;
}

bool VerifiedCheckpoint::is_wrong() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return !finding.is_read_error(); });
}

bool VerifiedCheckpoint::has_read_error() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.is_read_error(); });
}

ExitCode VerifyResult::exit_code() const {
  const auto any = [this](auto holds) { return std::any_of(checkpoints.begin(), checkpoints.end(), holds); };
  if (any([](const VerifiedCheckpoint& checkpoint) { return checkpoint.is_wrong(); }))
    return ExitCode::kVerification;
  if (any([](const VerifiedCheckpoint& checkpoint) { return checkpoint.has_read_error(); }))
    return ExitCode::kInputOutput;
  if (all && (!incomplete.empty() || !missing_parts.empty())) return ExitCode::kVerification;
  if (!not_verified.empty()) return ExitCode::kUnsuitable;
  return any([this](const VerifiedCheckpoint& checkpoint) { return checkpoint.complete || parts; })
             ? ExitCode::kDone
             : ExitCode::kUnsuitable;
}

VerifyResult verify(Communicator& communicator, const VerifyRequest& request, Progress& progress,
                    Interruption& interruption) {
  return Verification(communicator, request, progress, interruption).execute();
}

}  // namespace ckptsim::simulator
