#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/config/run_config.h"
#include "simulator/run/hang_guard.h"
#include "simulator/run/rank_layout.h"

namespace ckptsim::simulator {

// Which folder a target is, on its host.
struct FolderIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

// UnsuitableTarget where the target is no folder that can be written, or lies in another one's ckptsim/.
[[nodiscard]] FolderIdentity checked_identity(const std::string& target);

// Beside work on a target or on a path in one, within this process alone: "locking", "/mnt/nvme0".
[[nodiscard]] HangGuard guarded_work(const Communicator& communicator, const RunConfig& config,
                                     std::string_view doing, const std::filesystem::path& path);

// Collective: `groups`, by (host, target), with those as one whose folders are the same on several hosts.
// Their leaders look at every target before anything is made: RunFailure 3 where one cannot be used, 2 where
// two are the same folder on one host. Where several hosts take part, each leader makes a token file and
// looks for the others'; they are gone again when this returns.
[[nodiscard]] std::vector<TargetGroup> joined_groups(Communicator& communicator, const RunConfig& config,
                                                     std::vector<TargetGroup> groups);

}  // namespace ckptsim::simulator
