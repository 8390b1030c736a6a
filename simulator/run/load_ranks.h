#pragma once

#include <string>
#include <vector>

#include "simulator/run/rank_layout.h"

namespace ckptsim::simulator {

// By rank: whose files it reads in a load. Its own; or, shifted, those of a rank on another host, every
// rank's files once: with N ranks on each host, rank r reads those of rank r + N, the last ones those of the
// first. Where one host holds all ranks they are those of the next rank. Throws RunFailure 2 where that
// cannot be: one rank alone, or one of several hosts with more than half of all ranks. Pure.
[[nodiscard]] std::vector<long> load_ranks(const std::vector<RankPlace>& places, bool shift);

// Throws RunFailure 3 where a rank would read files that its host does not have, on a target that is local to
// another. `targets`: the paths, by number. Pure.
void check_files_are_reachable(const std::vector<RankPlace>& places, const std::vector<long>& read_ranks,
                               const std::vector<TargetGroup>& groups,
                               const std::vector<std::string>& targets);

}  // namespace ckptsim::simulator
