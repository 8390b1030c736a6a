#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/config/run_config.h"
#include "simulator/engine/failure.h"
#include "simulator/run/capacity.h"
#include "simulator/run/hang_guard.h"
#include "simulator/run/interruption.h"
#include "simulator/run/rank_layout.h"
#include "simulator/run/result.h"
#include "storage/target/marked_directory.h"

namespace ckptsim::simulator {

// The folders of a run on all its targets. Each group's leader acts for the group; every public call is
// collective and throws RunFailure everywhere when any process failed.
class Workspace {
 public:
  // Checks that every target is a folder that can be written, finds out which are shared. Makes nothing but,
  // where several hosts take part, a token file that is gone again when this returns.
  Workspace(Communicator& communicator, const RunConfig& config, const RankLayout& layout);

  [[nodiscard]] const std::vector<TargetGroup>& groups() const { return groups_; }
  [[nodiscard]] std::size_t group_of(long rank) const {
    return group_of_rank_[static_cast<std::size_t>(rank)];
  }

  // By group: the file system's facts, and what an earlier run of this name occupies.
  [[nodiscard]] std::vector<TargetEnvironment>& environment() { return environment_; }

  // What is there of this run stays, whatever happens: it goes on.
  void keep_run() { keeps_run_ = true; }

  // Every target's device completes by polling.
  void prove_polling();

  // Makes and locks TARGET/ckptsim. Whether all in it was made by this program is found out, under the lock,
  // by checkpoints_that_fit(), before anything in it is touched.
  void lock();

  // Refuses what lock() would for another run's sake, and makes and locks nothing.
  void refuse_in_use();

  // How many checkpoints a pass holds: `asked` (none: `auto`), after checking that they fit, or `auto`'s
  // answer. Throws RunFailure 3 naming target, needed and free bytes. Works with and without the lock.
  [[nodiscard]] Capacity checkpoints_that_fit(const RunPlan& plan, std::optional<std::int64_t> asked);

  // Under the lock: io_alignment() holds afterwards on every target.
  void prove_direct_io(Interruption& interruption);
  [[nodiscard]] std::uint64_t io_alignment() const { return io_alignment_; }

  // Under the lock: what the configuration asks of the file system later on is tried now (preallocation,
  // trimming).
  void prove_what_comes_later();

  // Under the lock: pass 1 always meets new files. What a kill left of a probe goes as well. This and the
  // other removals of data end between two files, with RunFailure 130, once a process is asked to end.
  void remove_earlier_run(Interruption& interruption);

  // The folder that a rank writes a checkpoint's files to.
  [[nodiscard]] std::string folder_of(long rank, std::int64_t checkpoint) const;

  // The same, opened level by level and following no link. Throws as storage::MarkedDirectory does; not
  // collective.
  [[nodiscard]] storage::Folder open_folder_of(long rank, std::int64_t checkpoint) const;

  void make_folder(std::int64_t checkpoint);
  void remove_manifests(std::int64_t checkpoint);
  void remove_checkpoint(std::int64_t checkpoint, Interruption& interruption);
  void remove_checkpoints(std::int64_t count, Interruption& interruption);
  void trim();

  // Calls `look` with the path and the manifest's name of each target that this process leads; what it throws
  // is agreed on, errors of the system as `system_code`.
  void for_each_led(ExitCode system_code,
                    const std::function<void(const std::string& target, const std::string& manifest)>& look);

  // `file_entries`: for each rank of this process the manifest's file entries as JSON text; `head`: the
  // manifest's first members. Returns the manifests of the groups that this process leads, by group.
  [[nodiscard]] std::map<std::size_t, std::string> gather_manifests(
      const std::string& head, const std::map<long, std::string>& file_entries);
  void publish_manifests(std::int64_t checkpoint, const std::map<std::size_t, std::string>& manifests);

 private:
  [[nodiscard]] bool leads(const TargetGroup& group) const {
    return group.leader_process == communicator_.process();
  }
  // Beside work on a target or on a path in one, within this process alone: "locking", "/mnt/nvme0".
  [[nodiscard]] HangGuard guarded(std::string_view doing, const std::filesystem::path& path) const;
  [[nodiscard]] std::uint64_t alignment_of(std::size_t group, const Look& look);
  void remove_run_of(std::size_t group, const Look& look);
  void gather_environment();

  Communicator& communicator_;
  const RunConfig& config_;
  std::vector<TargetGroup> groups_;
  std::vector<std::size_t> group_of_rank_;
  std::vector<TargetEnvironment> environment_;
  std::vector<std::uint64_t> device_of_group_;
  std::vector<std::uint64_t> entries_of_group_;                           // of an earlier run of this name
  std::map<std::size_t, std::unique_ptr<storage::MarkedDirectory>> led_;  // by group
  struct Removed {
    std::uint64_t files = 0;
    std::chrono::nanoseconds time{};
  };
  std::map<std::size_t, Removed> removed_;  // of the earlier run, by group that this process leads
  std::uint64_t io_alignment_ = 1;
  bool keeps_run_ = false;
};

}  // namespace ckptsim::simulator
