#include "simulator/run/load_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "simulator/engine/failure.h"

namespace ckptsim::simulator {
namespace {

struct Host {
  std::string name;
  std::vector<long> ranks;
};

// In the order of their first ranks.
std::vector<Host> hosts_of(const std::vector<RankPlace>& places) {
  std::vector<Host> hosts;
  for (const RankPlace& place : places) {
    auto found =
        std::find_if(hosts.begin(), hosts.end(), [&](const Host& host) { return host.name == place.host; });
    if (found == hosts.end()) found = hosts.insert(found, Host{place.host, {}});
    found->ranks.push_back(place.rank);
  }
  return hosts;
}

// How far to go round the ranks, host after host, to be on another host from everywhere.
std::size_t shift_by(const std::vector<Host>& hosts, std::size_t ranks) {
  if (ranks == 1) {
    throw RunFailure(ExitCode::kUsage,
                     "checkpoint.load_rank_shift is true, and the run's only rank has no other's files to "
                     "read; set it to false");
  }
  if (hosts.size() == 1) return 1;
  const auto largest = std::max_element(hosts.begin(), hosts.end(), [](const Host& a, const Host& b) {
    return a.ranks.size() < b.ranks.size();
  });
  if (2 * largest->ranks.size() > ranks) {
    throw RunFailure(
        ExitCode::kUsage,
        fmt::format("checkpoint.load_rank_shift is true, and {} has {} of {} ranks, so that some "
                    "would read files of their own host; divide the ranks over the hosts "
                    "evenly, or set it to false",
                    largest->name, largest->ranks.size(), ranks));
  }
  return largest->ranks.size();
}

}  // namespace

std::vector<long> load_ranks(const std::vector<RankPlace>& places, bool shift) {
  std::vector<long> read(places.size());
  std::iota(read.begin(), read.end(), 0L);
  if (!shift) return read;
  const std::vector<Host> hosts = hosts_of(places);
  const std::size_t distance = shift_by(hosts, places.size());
  std::vector<long> by_host;
  for (const Host& host : hosts)
    by_host.insert(by_host.end(), host.ranks.begin(), host.ranks.end());
  for (std::size_t i = 0; i < by_host.size(); ++i)
    read[static_cast<std::size_t>(by_host[i])] = by_host[(i + distance) % by_host.size()];
  return read;
}

void check_files_are_reachable(const std::vector<RankPlace>& places, const std::vector<long>& read_ranks,
                               const std::vector<TargetGroup>& groups,
                               const std::vector<std::string>& targets) {
  std::vector<const TargetGroup*> group_of(places.size());
  std::set<std::pair<const TargetGroup*, std::string>> has;
  for (const TargetGroup& group : groups) {
    for (const long rank : group.ranks) {
      group_of[static_cast<std::size_t>(rank)] = &group;
      has.emplace(&group, places[static_cast<std::size_t>(rank)].host);
    }
  }
  for (const RankPlace& place : places) {
    const long read = read_ranks[static_cast<std::size_t>(place.rank)];
    const TargetGroup* const group = group_of[static_cast<std::size_t>(read)];
    if (has.contains({group, place.host})) continue;
    throw RunFailure(
        ExitCode::kUnsuitable,
        fmt::format("checkpoint.load_rank_shift is true, and rank {} on {} would read the files of rank {}, "
                    "which {} on {} keeps to itself; name a target that all hosts share, or set it to false",
                    place.rank, place.host, read, targets[group->target],
                    places[static_cast<std::size_t>(read)].host));
  }
}

}  // namespace ckptsim::simulator
