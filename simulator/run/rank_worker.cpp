#include "simulator/run/rank_worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "models/invariant.h"
#include "simulator/plan/plan.h"
#include "storage/call_listener.h"
#include "storage/target/marked_directory.h"
#include "storage/torch/archive_stream.h"

namespace ckptsim::simulator {
namespace {

namespace torch = storage::torch;

FsyncPolicy fsync_policy(const std::string& name) {
  if (name == "end") return FsyncPolicy::kEnd;
  return name == "off" ? FsyncPolicy::kOff : FsyncPolicy::kFile;
}

std::string sentence(const SaveError& error) {
  const std::string place = error.operation == "write" ? fmt::format(" at offset {}", error.offset) : "";
  std::string advice;
  if (error.code == std::errc::no_space_on_device) {
    advice =
        "; the target filled up during the run, or a thin volume beneath it did: free space there or ask for "
        "fewer checkpoints a pass";
  } else if (error.code == std::errc::file_too_large) {
    advice = "; raise the limit on file sizes (ulimit -f), or use a file system that holds such files";
  } else if (error.code == std::errc::too_many_links) {
    advice = "; it has another name elsewhere (a hard link), and writing it would change that file as well";
  } else if (error.code == std::errc::too_many_symbolic_link_levels) {
    advice = "; a link has taken its place, and is not followed";
  } else if (error.code.value() == EDQUOT) {
    advice = "; the quota on the target is used up";
  } else if (error.code.value() == EROFS) {
    advice = "; file systems turn read-only after an error of their drive: look in the kernel's log (dmesg)";
  } else if (error.operation == "preallocate" && error.code == std::errc::operation_not_supported) {
    advice = "; set storage.preallocate to false";
  } else if (error.code == std::errc::too_many_files_open) {
    advice = "; raise the limit on open files (ulimit -n)";
  }
  return fmt::format("cannot {} {}{}: {}{}", error.operation, error.path, place, error.code.message(),
                     advice);
}

}  // namespace

RankWorker::RankWorker(const RunConfig& config, const RankPlace& place, std::size_t group,
                       std::unique_ptr<storage::Target> target, const storage::libtorch::Module* module,
                       const storage::Clock& clock)
    : config_(config),
      place_(place),
      group_(group),
      clock_(clock),
      target_(std::move(target)),
      sources_(config, place.rank, module, clock),
      specs_(file_specs(config, place.rank, iteration_of(0))) {
  if (target_->facts().backend != "null") manifest_.emplace(place.rank, specs_);
  const torch::ArchiveOptions archive = archive_options(config);
  for (const torch::FileSpec& spec : specs_) {
    file_bytes_.push_back(torch::archive_bytes(spec, archive));
    payload_bytes_ += torch::payload_bytes(spec);
  }
}

void RankWorker::prepare(const CheckpointJob& job, const std::string& folder,
                         std::atomic<std::uint64_t>& written_bytes, const std::atomic<bool>& stop) {
  failure_.reset();
  stopped_ = false;
  set_iteration(specs_, place_.rank, iteration_of(job.ordinal));
  folder_ = {};
  if (config_.storage.backend != "null") {
    folder_ = storage::MarkedDirectory::open_checkpoint(config_.storage.targets[place_.target], config_.name,
                                                        static_cast<int>(job.checkpoint));
  }
  files_.clear();
  for (std::size_t i = 0; i < specs_.size(); ++i)
    files_.push_back({(std::filesystem::path(folder) / specs_[i].name).string(), file_bytes_[i]});
  profiled_ = job.profile;
  wait_ns_ = 0;
  sample_ = {};
  producer_ = std::make_unique<BlockProducer>(specs_.size(), [this, job](std::size_t file) {
    return sources_.open(specs_[file], job.content_pass, static_cast<std::uint64_t>(job.checkpoint),
                         job.profile ? &sample_ : nullptr);
  });
  const SaveSettings settings{.fsync = fsync_policy(config_.checkpoint.fsync),
                              .open_mode = job.open_mode,
                              .preallocate = config_.storage.preallocate,
                              .folder = folder_.exists() ? folder_.descriptor.get() : AT_FDCWD,
                              .long_steps = sources_.long_steps(),
                              .profile = job.profile};
  sequence_ = std::make_unique<SaveSequence>(settings, folder, files_, *producer_, *target_, clock_,
                                             written_bytes, stop);
}

void RankWorker::run() {
  const ThreadTimes before = thread_times();
  try {
    sequence_->start();
    while (sequence_->advance() == SaveSequence::Status::kWaiting)
      wait_for_one();
    note_thread_times(before, thread_times());
    stopped_ = sequence_->stopped();
    if (const std::optional<SaveError>& error = sequence_->error()) {
      fail({.code = ExitCode::kInputOutput, .message = sentence(*error)});
    }
  } catch (const std::exception& error) {
    // Not a file's error but the backend's own; what it was busy with is known all the same.
    Failure failure = failure_of(error, ExitCode::kInputOutput);
    failure.message += fmt::format(", while busy with {}", sequence_->current_path());
    fail(std::move(failure));
  }
}

void RankWorker::open_loader(long read_rank) {
  loader_ = std::make_unique<RankLoader>(config_, read_rank, *target_, clock_);
}

void RankWorker::prepare_load(const LoadJob& job, std::atomic<std::uint64_t>& read_bytes,
                              const std::atomic<bool>& stop) {
  failure_.reset();
  stopped_ = false;
  loader_->prepare(job, read_bytes, stop);
}

void RankWorker::load() {
  if (std::optional<Failure> failure = loader_->run()) fail(std::move(*failure));
  stopped_ = loader_->stopped();
}

RankLoad RankWorker::measured_load() const {
  RankLoad load = loader_->measured();
  load.rank = place_.rank;
  load.host = place_.host;
  return load;
}

void RankWorker::wait_for_one() {
  storage::Completion completion;
  const storage::Clock::Time start = profiled_ ? clock_.now() : storage::Clock::Time{};
  target_->wait(completion);
  if (profiled_) wait_ns_ += (clock_.now() - start).count();
  sequence_->complete(std::move(completion));
}

// Making is timed whole; how it divides is known from a sample.
std::optional<RankProfile> RankWorker::profile() const {
  if (!profiled_) return std::nullopt;
  const WriteProfile& write = sequence_->measurement().profile;
  const std::int64_t sampled_ns = sample_.content_ns + sample_.crc_ns;
  const double crc_share =
      sampled_ns > 0 ? static_cast<double>(sample_.crc_ns) / static_cast<double>(sampled_ns) : 0;
  const auto crc_ns = static_cast<std::int64_t>(crc_share * static_cast<double>(write.making_ns));
  return RankProfile{.generation_ns = write.making_ns - crc_ns,
                     .crc_ns = crc_ns,
                     .submission_ns = write.submission_ns,
                     .wait_ns = wait_ns_};
}

void RankWorker::note_thread_times(const ThreadTimes& before, const ThreadTimes& after) {
  cpu_ns_ = after.cpu_ns - before.cpu_ns;
  const bool known = before.cpu_wait_ns.has_value() && after.cpu_wait_ns.has_value();
  cpu_wait_ns_ = known ? *after.cpu_wait_ns - *before.cpu_wait_ns : -1;
}

void RankWorker::check_sizes() {
  if (config_.storage.backend == "null" || failure_.has_value() || stopped_) return;
  for (const PlannedFile& file : files_) {
    storage::CallListener::tell("looking at", file.path);
    struct stat facts {};
    const std::string name = std::filesystem::path(file.path).filename();
    const bool known = fstatat(folder_.descriptor.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
    const auto found = static_cast<std::uint64_t>(facts.st_size);
    if (known && S_ISREG(facts.st_mode) && found == file.file_bytes) continue;
    fail({.code = ExitCode::kInputOutput,
          .message = !known ? fmt::format("cannot read the size of {} after writing it: {}", file.path,
                                          std::system_category().message(errno))
                            : fmt::format("{}: {} bytes were planned and written, the file system has {}",
                                          file.path, file.file_bytes, found)});
    return;
  }
}

void RankWorker::fail(Failure failure) {
  failure.host = place_.host;
  failure.rank = place_.rank;
  failure_ = std::move(failure);
}

RankSave RankWorker::measured() const {
  const SaveMeasurement& measurement = sequence_->measurement();
  RankSave save{.rank = place_.rank,
                .host = place_.host,
                .target = group_,
                .payload_bytes = payload_bytes_,
                .file_bytes = measurement.file_bytes,
                .padding_bytes = measurement.padding_bytes,
                .blocks = measurement.blocks,
                .sync_calls = measurement.sync_calls,
                .duration_ns = measurement.phases.duration().count(),
                .idle_ns = measurement.idle_ns,
                .cpu_ns = cpu_ns_,
                .cpu_wait_ns = cpu_wait_ns_,
                .profile = profile(),
                .depth_integral_ns = measurement.depth_integral_ns,
                .latency_p50_ns = measurement.latency.quantile_ns(0.5),
                .latency_p99_ns = measurement.latency.quantile_ns(0.99),
                .latency_p999_ns = measurement.latency.quantile_ns(0.999),
                .latency_max_ns = measurement.latency.maximum_ns(),
                .busy_resolution_ns = measurement.busy.resolution_ns(),
                .busy = measurement.busy.intervals()};
  for (std::size_t i = 0; i < kPhases; ++i)
    save.phase_ns[i] = measurement.phases.totals()[i].count();
  return save;
}

std::string RankWorker::manifest_files() {
  require(manifest_.has_value(), "a rank that writes nothing has no part in a manifest");
  return manifest_->text(specs_, producer_->digests());
}

}  // namespace ckptsim::simulator
