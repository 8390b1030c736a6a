#include "simulator/run/rank_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "simulator/engine/failure.h"

namespace ckptsim::simulator {

std::vector<RankPlace> place_ranks(long ranks, const std::vector<std::string>& host_of_process,
                                   std::size_t targets) {
  const auto processes = static_cast<long>(host_of_process.size());
  std::map<std::string, long> ranks_on_host;
  std::vector<RankPlace> places;
  for (long process = 0; process < processes; ++process) {
    const long count = ranks / processes + (process < ranks % processes ? 1 : 0);
    const std::string& host = host_of_process[static_cast<std::size_t>(process)];
    for (long i = 0; i < count; ++i) {
      const long local_rank = ranks_on_host[host]++;
      places.push_back({.rank = static_cast<long>(places.size()),
                        .process = static_cast<int>(process),
                        .host = host,
                        .local_rank = local_rank,
                        .target = targets == 0 ? 0 : static_cast<std::size_t>(local_rank) % targets});
    }
  }
  return places;
}

RankLayout make_rank_layout(Communicator& communicator, long ranks, std::size_t targets) {
  RankLayout layout;
  layout.ranks = place_ranks(ranks, communicator.all_gather(host_name()), targets);
  const auto is_here = [&](const RankPlace& place) { return place.process == communicator.process(); };
  const auto first = std::find_if(layout.ranks.begin(), layout.ranks.end(), is_here);
  layout.first_here = first == layout.ranks.end() ? 0 : first->rank;
  layout.count_here = std::count_if(layout.ranks.begin(), layout.ranks.end(), is_here);
  return layout;
}

std::vector<TargetGroup> groups_of(const std::vector<RankPlace>& places) {
  std::map<std::pair<std::string, std::size_t>, std::size_t> known;
  std::vector<TargetGroup> groups;
  for (const RankPlace& place : places) {
    const auto [found, is_new] = known.try_emplace({place.host, place.target}, groups.size());
    if (is_new) {
      groups.push_back(
          {.target = place.target, .host = place.host, .ranks = {}, .leader_process = place.process});
    }
    groups[found->second].ranks.push_back(place.rank);
  }
  return groups;
}

std::vector<TargetGroup> join_shared(std::vector<TargetGroup> groups,
                                     const std::vector<std::vector<std::size_t>>& sees) {
  std::vector<TargetGroup> joined;
  std::map<std::size_t, std::size_t> position_of_first;  // lowest group seen -> index in joined
  for (std::size_t i = 0; i < groups.size(); ++i) {
    // A leader that does not even see its own token (a file system that lags) shares with nobody.
    const auto lowest = std::min_element(sees[i].begin(), sees[i].end());
    const std::size_t first = lowest == sees[i].end() ? i : std::min(i, *lowest);
    const auto [found, is_new] = position_of_first.try_emplace(first, joined.size());
    if (is_new) {
      joined.push_back(std::move(groups[i]));
    } else {
      std::vector<long>& ranks = joined[found->second].ranks;
      ranks.insert(ranks.end(), groups[i].ranks.begin(), groups[i].ranks.end());
      std::sort(ranks.begin(), ranks.end());
    }
  }
  std::set<std::string> leader_hosts;
  for (const TargetGroup& group : joined)
    leader_hosts.insert(group.host);
  if (leader_hosts.size() > 1) {
    for (TargetGroup& group : joined)
      group.manifest = "manifest-" + group.host + ".json";
  }
  return joined;
}

}  // namespace ckptsim::simulator
