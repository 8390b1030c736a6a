#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/config/run_config.h"
#include "simulator/engine/failure.h"
#include "simulator/engine/save_sequence.h"
#include "simulator/engine/thread_times.h"
#include "simulator/run/file_sources.h"
#include "simulator/run/manifest.h"
#include "simulator/run/rank_layout.h"
#include "simulator/run/rank_loader.h"
#include "simulator/run/result.h"
#include "storage/target/folder_calls.h"
#include "storage/target/target.h"
#include "storage/torch/archive_stream.h"
#include "storage/torch/file_spec.h"

namespace ckptsim::simulator {

// One checkpoint to be written.
struct CheckpointJob {
  std::uint64_t ordinal = 0;       // over the whole run, from 0
  std::uint64_t content_pass = 1;  // the pass in the content's address
  std::int64_t checkpoint = 1;     // within the pass
  storage::OpenMode open_mode = storage::OpenMode::kNew;
  bool profile = false;  // measures what the rank's time goes into
};

// A model rank of this process: its target for the whole run, its files and save sequence for one checkpoint
// at a time, and what reads them back. prepare() and what follows run() are called by the process's main
// thread, run() and load() by the rank's own.
class RankWorker {
 public:
  // Works out the rank's files and their sizes. `module` makes the files where it is not null. `config`,
  // `module` and `clock` outlive the worker.
  RankWorker(const RunConfig& config, const RankPlace& place, std::size_t group,
             std::unique_ptr<storage::Target> target, const storage::libtorch::Module* module,
             const storage::Clock& clock);

  // Touches the target's buffers, so that no page fault is measured. May run beside other workers' warm_up().
  void warm_up() { target_->warm_up(); }

  // Everything but content: the checkpoint's folder, opened for all that follows, paths, the iteration, the
  // sequence. UnsuitableTarget where a link has taken the folder's place. `written_bytes` and `stop` are
  // shared by the process's ranks.
  void prepare(const CheckpointJob& job, const std::string& folder, std::atomic<std::uint64_t>& written_bytes,
               const std::atomic<bool>& stop);

  // The sequence on a real clock, from its start to its end. Failures are kept for failure().
  void run();

  // The rank reads the files of `read_rank` back, from here on.
  void open_loader(long read_rank);
  [[nodiscard]] RankLoader& loader() { return *loader_; }
  void prepare_load(const LoadJob& job, std::atomic<std::uint64_t>& read_bytes,
                    const std::atomic<bool>& stop);
  void load();  // as run()
  [[nodiscard]] RankLoad measured_load() const;

  // Of the last run() or load().
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  [[nodiscard]] bool stopped() const { return stopped_; }  // asked to, before its end

  // Holds the files' sizes against the plan, asking the file system, where the rank has written all of them.
  // A difference is kept for failure().
  void check_sizes();

  // When its clock started and ended.
  [[nodiscard]] storage::Clock::Time started() const { return sequence_->measurement().phases.started(); }
  [[nodiscard]] storage::Clock::Time ended() const {
    return started() + sequence_->measurement().phases.duration();
  }

  [[nodiscard]] RankSave measured() const;
  [[nodiscard]] std::string manifest_files();
  [[nodiscard]] const RankPlace& place() const { return place_; }
  [[nodiscard]] std::span<const std::byte> buffer_memory() const { return target_->buffer_memory(); }
  [[nodiscard]] storage::TargetFacts facts() const { return target_->facts(); }
  // Of its target, while run() is under way: for the main thread.
  [[nodiscard]] const storage::TargetActivity& activity() const { return target_->activity(); }

 private:
  void fail(Failure failure);
  void wait_for_one();
  [[nodiscard]] std::optional<RankProfile> profile() const;
  void note_thread_times(const ThreadTimes& before, const ThreadTimes& after);

  const RunConfig& config_;
  RankPlace place_;
  std::size_t group_;
  const storage::Clock& clock_;
  std::unique_ptr<storage::Target> target_;
  FileSources sources_;
  std::unique_ptr<RankLoader> loader_;

  std::vector<storage::torch::FileSpec> specs_;
  std::optional<ManifestFiles> manifest_;  // none where nothing is written
  std::vector<std::uint64_t> file_bytes_;  // of specs_, the same in every checkpoint
  storage::Folder folder_;                 // of the checkpoint at hand; none for the backend null
  std::vector<PlannedFile> files_;
  std::uint64_t payload_bytes_ = 0;
  std::unique_ptr<BlockProducer> producer_;
  std::unique_ptr<SaveSequence> sequence_;
  std::int64_t cpu_ns_ = 0;
  std::int64_t cpu_wait_ns_ = -1;
  bool profiled_ = false;
  std::int64_t wait_ns_ = 0;  // when profiled
  storage::torch::MakingSample sample_;
  std::optional<Failure> failure_;
  bool stopped_ = false;
};

}  // namespace ckptsim::simulator
