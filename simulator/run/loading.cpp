#include "simulator/run/loading.h"

#include <fmt/format.h>

#include <utility>

#include "simulator/engine/failure.h"
#include "simulator/run/hang_guard.h"
#include "simulator/run/load_ranks.h"
#include "simulator/run/stall_watch.h"

namespace ckptsim::simulator {

void Loading::assign(const Workspace& workspace) {
  if (!wanted()) return;
  read_ranks_ = load_ranks(layout_.ranks, config_.checkpoint.load_rank_shift);
  check_files_are_reachable(layout_.ranks, read_ranks_, workspace.groups(), config_.storage.targets);
}

void Loading::open(std::vector<std::unique_ptr<RankWorker>>& workers) {
  if (!wanted()) return;
  together(communicator_, ExitCode::kUnsuitable, [&] {
    for (const auto& worker : workers)
      worker->open_loader(read_ranks_[static_cast<std::size_t>(worker->place().rank)]);
  });
}

LoadResult Loading::load(CheckpointRunner& runner, const Workspace& workspace,
                         std::vector<std::unique_ptr<RankWorker>>& workers, std::int64_t checkpoint,
                         const LoadJob& job) {
  const storage::Clock::Time start = clock_.now();
  together(communicator_, ExitCode::kInputOutput, [&] {
    const HangGuard guard(hang_limit(communicator_, stall_limit(config_)),
                          fmt::format("taking checkpoint {} out of the page cache", checkpoint));
    for (const auto& worker : workers) {
      RankLoader& loader = worker->loader();
      loader.drop_cached_pages(workspace.open_folder_of(loader.read_rank(), checkpoint));
    }
  });
  const std::int64_t prepare_ns = (clock_.now() - start).count();
  LoadOutcome outcome = runner.load(job);
  if (communicator_.process() != 0) return {};
  const bool through_page_cache = !workers.front()->facts().direct_io;
  LoadResult result =
      summarise_load(std::move(outcome.ranks), outcome.barrier_to_barrier_ns, through_page_cache);
  result.prepare_ns = prepare_ns;
  return result;
}

}  // namespace ckptsim::simulator
