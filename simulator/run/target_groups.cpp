#include "simulator/run/target_groups.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <utility>

#include "simulator/communicator/packing.h"
#include "simulator/engine/failure.h"
#include "simulator/run/stall_watch.h"
#include "storage/descriptor.h"
#include "storage/errors.h"
#include "storage/target/marked_directory.h"

namespace ckptsim::simulator {
namespace {

namespace fs = std::filesystem;

// A target below another's ckptsim/ would put files there that the other takes for foreign.
void refuse_inside_marked(const std::string& target) {
  const fs::path folder = storage::MarkedDirectory::marked_folder_around(target);
  if (folder.empty()) return;
  throw storage::UnsuitableTarget(
      fmt::format("{} is inside {}, where this program keeps the checkpoints of another "
                  "target; name a folder outside it",
                  target, folder.string()));
}

fs::path token_path(const std::string& target, const std::string& run, std::size_t group) {
  return fs::path(target) / fmt::format(".ckptsim-token-{}-{}", run, group);
}

// A new file: whatever has that name already is left as it is.
void make_token(const fs::path& path) {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const storage::Descriptor token(open(path.c_str(), flags, 0644));
  if (token.valid()) return;
  throw storage::UnsuitableTarget(
      fmt::format("{}: cannot be made: {}", path.string(), std::generic_category().message(errno)));
}

// The same on every process, and not that of another run on the same targets.
std::string run_token(Communicator& communicator) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return communicator.broadcast(fmt::format("{:x}-{}", now, getpid()));
}

void refuse_folders_named_twice(Communicator& communicator, const RunConfig& config,
                                const std::vector<TargetGroup>& groups) {
  std::vector<std::string> mine;
  together(communicator, ExitCode::kUnsuitable, [&] {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].leader_process != communicator.process()) continue;
      const HangGuard guard =
          guarded_work(communicator, config, "looking at", config.storage.targets[groups[i].target]);
      const FolderIdentity identity = checked_identity(config.storage.targets[groups[i].target]);
      mine.push_back(pack(
          {std::to_string(i), fmt::format("{} {} {}", groups[i].host, identity.device, identity.inode)}));
    }
  });
  std::map<std::string, std::size_t> group_by_identity;
  for (const std::string& part : communicator.all_gather(pack(mine))) {
    for (const std::string& entry : unpack(part)) {
      const std::vector<std::string> field = unpack(entry);
      const std::size_t group = std::stoul(field[0]);
      const auto [found, is_new] = group_by_identity.try_emplace(field[1], group);
      if (!is_new) {
        throw RunFailure(ExitCode::kUsage,
                         fmt::format("{} and {} are the same folder: a target named twice would be "
                                     "measured as one; name each once",
                                     config.storage.targets[groups[found->second].target],
                                     config.storage.targets[groups[group].target]));
      }
    }
  }
}

// Groups on different hosts share a folder when one's token appears in the other's.
std::vector<TargetGroup> join_shared_folders(Communicator& communicator, const RunConfig& config,
                                             std::vector<TargetGroup> groups) {
  const bool one_host = std::all_of(groups.begin(), groups.end(),
                                    [&](const TargetGroup& g) { return g.host == groups.front().host; });
  if (one_host) return groups;

  const std::string run = run_token(communicator);
  const auto token_of = [&](std::size_t where, std::size_t whose) {
    return token_path(config.storage.targets[groups[where].target], run, whose);
  };
  std::vector<std::filesystem::path> made;
  const auto remove_tokens = [&] {
    for (const fs::path& token : made) {
      const HangGuard guard = guarded_work(communicator, config, "removing", token);
      fs::remove(token);
    }
  };
  std::vector<std::string> mine;
  try {
    together(communicator, ExitCode::kUnsuitable, [&] {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i].leader_process != communicator.process()) continue;
        const HangGuard guard = guarded_work(communicator, config, "making", token_of(i, i));
        make_token(token_of(i, i));
        made.push_back(token_of(i, i));
      }
    });
    together(communicator, ExitCode::kUnsuitable, [&] {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i].leader_process != communicator.process()) continue;
        HangGuard guard = guarded_work(communicator, config, "looking for other hosts' files in",
                                       config.storage.targets[groups[i].target]);
        for (std::size_t k = 0; k < groups.size(); ++k) {
          guard.alive();
          if (fs::exists(token_of(i, k))) mine.push_back(fmt::format("{} {}", i, k));
        }
      }
    });
  } catch (const RunFailure&) {
    remove_tokens();
    throw;
  }
  std::vector<std::vector<std::size_t>> sees(groups.size());
  for (const std::string& part : communicator.all_gather(pack(mine))) {
    for (const std::string& pair : unpack(part)) {
      const std::size_t blank = pair.find(' ');
      sees[std::stoul(pair.substr(0, blank))].push_back(std::stoul(pair.substr(blank + 1)));
    }
  }
  together(communicator, ExitCode::kUnsuitable, remove_tokens);
  return join_shared(std::move(groups), sees);
}

}  // namespace

FolderIdentity checked_identity(const std::string& target) {
  struct stat status {};
  if (stat(target.c_str(), &status) != 0) {
    throw storage::UnsuitableTarget(
        fmt::format("{}: {}; a target is an existing folder on the drive to measure", target,
                    std::generic_category().message(errno)));
  }
  if (!S_ISDIR(status.st_mode)) {
    throw storage::UnsuitableTarget(
        fmt::format("{}: not a folder; a target is a folder on the drive to measure", target));
  }
  if (access(target.c_str(), W_OK | X_OK) != 0) {
    throw storage::UnsuitableTarget(fmt::format("{}: {}; choose a folder that this user may write to", target,
                                                std::generic_category().message(errno)));
  }
  refuse_inside_marked(target);
  return {status.st_dev, status.st_ino};
}

HangGuard guarded_work(const Communicator& communicator, const RunConfig& config, std::string_view doing,
                       const fs::path& path) {
  return {hang_limit(communicator, stall_limit(config)), fmt::format("{} {}", doing, path.string())};
}

std::vector<TargetGroup> joined_groups(Communicator& communicator, const RunConfig& config,
                                       std::vector<TargetGroup> groups) {
  refuse_folders_named_twice(communicator, config, groups);
  return join_shared_folders(communicator, config, std::move(groups));
}

}  // namespace ckptsim::simulator
