#pragma once

#include <string>
#include <vector>

#include "simulator/communicator/communicator.h"

namespace ckptsim::simulator {

// Where a model rank runs. `local_rank` counts the ranks of its host, in order of ranks, from 0.
struct RankPlace {
  long rank = 0;
  int process = 0;
  std::string host;
  long local_rank = 0;
  std::size_t target = 0;  // local_rank mod targets; 0 without targets
};

struct RankLayout {
  std::vector<RankPlace> ranks;  // all of the model's, by rank
  long first_here = 0;           // ranks [first_here, first_here + count_here) are threads of this process
  long count_here = 0;
};

// Contiguous blocks of ranks over the processes, the first ones one more. Pure.
[[nodiscard]] std::vector<RankPlace> place_ranks(long ranks, const std::vector<std::string>& host_of_process,
                                                 std::size_t targets);

// Collective: the same layout on every process but for first_here and count_here.
[[nodiscard]] RankLayout make_rank_layout(Communicator& communicator, long ranks, std::size_t targets);

// The ranks of every (host, target), by their lowest rank. A shared target's groups become one, see
// target_groups.h.
struct TargetGroup {
  std::size_t target = 0;
  std::string host;
  std::vector<long>
      ranks;  // ascending; the first leads: it makes folders, locks, checks space, writes the manifest
  int leader_process = 0;
  std::string manifest =
      "manifest.json";  // manifest-HOST.json where several hosts have parts of a checkpoint
};
[[nodiscard]] std::vector<TargetGroup> groups_of(const std::vector<RankPlace>& places);

// Joins groups whose leaders see each other's token: `sees[i]` holds the groups whose tokens group i's leader
// found, its own among them. Names the manifests. Pure.
[[nodiscard]] std::vector<TargetGroup> join_shared(std::vector<TargetGroup> groups,
                                                   const std::vector<std::vector<std::size_t>>& sees);

}  // namespace ckptsim::simulator
