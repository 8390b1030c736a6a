#include "simulator/run/rank_loader.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "simulator/plan/plan.h"
#include "storage/drive/cached_file.h"
#include "storage/torch/archive_stream.h"

namespace ckptsim::simulator {
namespace {

namespace torch = storage::torch;

Failure failure_of(const LoadError& error) {
  if (!error.code) return {.code = ExitCode::kVerification, .message = error.difference, .host = {}};
  const std::string place = error.operation == "read" ? fmt::format(" at offset {}", error.offset) : "";
  const std::string advice =
      error.code == std::errc::too_many_files_open ? "; raise the limit on open files (ulimit -n)" : "";
  return {.code = ExitCode::kInputOutput,
          .message = fmt::format("cannot {} {}{}: {}{}", error.operation, error.path, place,
                                 error.code.message(), advice),
          .host = {}};
}

}  // namespace

RankLoader::RankLoader(const RunConfig& config, long read_rank, storage::Target& target,
                       const storage::Clock& clock)
    : read_rank_(read_rank),
      target_(target),
      clock_(clock),
      through_page_cache_(!target.facts().direct_io),
      specs_(file_specs(config, read_rank, iteration_of(0))) {
  const torch::ArchiveOptions archive = archive_options(config);
  for (const torch::FileSpec& spec : specs_) {
    files_.push_back({.path = {}, .file_bytes = torch::archive_bytes(spec, archive), .spec = &spec});
    payload_bytes_ += torch::payload_bytes(spec);
  }
}

void RankLoader::drop_cached_pages(storage::Folder folder) {
  folder_ = std::move(folder);
  cached_bytes_ = 0;
  for (FileToLoad& file : files_) {
    file.path = (folder_.path / file.spec->name).string();
    file.folder = folder_.descriptor.get();
    if (through_page_cache_) storage::drop_from_page_cache(file.path);
    const std::optional<std::uint64_t> cached = storage::cached_bytes(file.path);
    if (!cached) cached_bytes_.reset();
    if (cached_bytes_) *cached_bytes_ += *cached;
  }
}

void RankLoader::prepare(const LoadJob& job, std::atomic<std::uint64_t>& read_bytes,
                         const std::atomic<bool>& stop) {
  set_iteration(specs_, read_rank_, iteration_of(job.ordinal));
  sequence_ = std::make_unique<LoadSequence>(files_, target_, clock_, read_bytes, stop);
}

std::optional<Failure> RankLoader::run() {
  const ThreadTimes before = thread_times();
  std::optional<Failure> failure = drive();
  const ThreadTimes after = thread_times();
  cpu_ns_ = after.cpu_ns - before.cpu_ns;
  const bool known = before.cpu_wait_ns.has_value() && after.cpu_wait_ns.has_value();
  cpu_wait_ns_ = known ? *after.cpu_wait_ns - *before.cpu_wait_ns : -1;
  return failure;
}

std::optional<Failure> RankLoader::drive() {
  try {
    sequence_->start();
    while (sequence_->advance() == LoadSequence::Status::kWaiting) {
      storage::Completion completion;
      target_.wait(completion);
      sequence_->complete(std::move(completion));
    }
    if (sequence_->error().has_value()) return failure_of(*sequence_->error());
  } catch (const std::exception& error) {
    // Not a file's error but the backend's own; what it was busy with is known all the same.
    Failure failure = simulator::failure_of(error, ExitCode::kInputOutput);
    failure.message += fmt::format(", while busy with {}", sequence_->current_path());
    return failure;
  }
  return std::nullopt;
}

RankLoad RankLoader::measured() const {
  const LoadMeasurement& measurement = sequence_->measurement();
  RankLoad load{.read_rank = read_rank_,
                .host = {},
                .payload_bytes = payload_bytes_,
                .file_bytes = measurement.file_bytes,
                .read_bytes = measurement.read_bytes,
                .blocks = measurement.blocks,
                .cached_bytes_before = cached_bytes_,
                .duration_ns = measurement.phases.duration().count(),
                .idle_ns = measurement.idle_ns,
                .cpu_ns = cpu_ns_,
                .cpu_wait_ns = cpu_wait_ns_,
                .latency_p50_ns = measurement.latency.quantile_ns(0.5),
                .latency_p99_ns = measurement.latency.quantile_ns(0.99),
                .latency_p999_ns = measurement.latency.quantile_ns(0.999),
                .latency_max_ns = measurement.latency.maximum_ns()};
  for (std::size_t i = 0; i < kLoadPhases; ++i)
    load.phase_ns[i] = measurement.phases.totals()[i].count();
  return load;
}

}  // namespace ckptsim::simulator
