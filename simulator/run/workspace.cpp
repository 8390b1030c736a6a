#include "simulator/run/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "simulator/communicator/packing.h"
#include "simulator/engine/failure.h"
#include "simulator/run/manifest.h"
#include "simulator/run/target_groups.h"
#include "storage/clock.h"
#include "storage/drive/direct_io_probe.h"
#include "storage/drive/file_system.h"
#include "storage/drive/polling_probe.h"
#include "storage/drive/preallocation_probe.h"
#include "storage/errors.h"

namespace ckptsim::simulator {

namespace fs = std::filesystem;

Workspace::Workspace(Communicator& communicator, const RunConfig& config, const RankLayout& layout)
    : communicator_(communicator),
      config_(config),
      groups_(joined_groups(communicator, config, groups_of(layout.ranks))) {
  group_of_rank_.resize(layout.ranks.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    for (const long rank : groups_[i].ranks)
      group_of_rank_[static_cast<std::size_t>(rank)] = i;
  }
}

HangGuard Workspace::guarded(std::string_view doing, const fs::path& path) const {
  return guarded_work(communicator_, config_, doing, path);
}

void Workspace::prove_polling() {
  together(communicator_, ExitCode::kUnsuitable, [&] {
    for (const TargetGroup& group : groups_) {
      if (!leads(group)) continue;
      const std::string& target = config_.storage.targets[group.target];
      const HangGuard guard = guarded("trying polled completion on", target);
      storage::prove_polling(target);
    }
  });
}

void Workspace::lock() {
  together(communicator_, ExitCode::kUnsuitable, [&] {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (!leads(groups_[i])) continue;
      const HangGuard guard = guarded("locking", config_.storage.targets[groups_[i].target]);
      led_[i] = std::make_unique<storage::MarkedDirectory>(config_.storage.targets[groups_[i].target]);
    }
  });
}

void Workspace::refuse_in_use() {
  together(communicator_, ExitCode::kUnsuitable, [&] {
    for (const TargetGroup& group : groups_) {
      if (!leads(group)) continue;
      const std::string& target = config_.storage.targets[group.target];
      const HangGuard guard = guarded("looking for another run's lock in", target);
      storage::MarkedDirectory::refuse_in_use(target);
    }
  });
}

void Workspace::gather_environment() {
  std::vector<std::string> mine;
  together(communicator_, ExitCode::kUnsuitable, [&] {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (!leads(groups_[i])) continue;
      const std::string& target = config_.storage.targets[groups_[i].target];
      const HangGuard guard = guarded("looking through", target);
      const storage::FileSystemFacts facts = storage::file_system_facts(target);
      const storage::Contents own = storage::MarkedDirectory::survey(target, config_.name);
      mine.push_back(
          pack({std::to_string(i), fs::canonical(target).string(), facts.type, facts.mount_options,
                facts.source, std::to_string(facts.capacity_bytes), std::to_string(facts.available_bytes),
                std::to_string(own.allocated_bytes), std::to_string(facts.available_files),
                std::to_string(checked_identity(target).device), std::to_string(own.entries)}));
    }
  });
  environment_.assign(groups_.size(), {});
  device_of_group_.assign(groups_.size(), 0);
  entries_of_group_.assign(groups_.size(), 0);
  for (const std::string& part : communicator_.all_gather(pack(mine))) {
    for (const std::string& entry : unpack(part)) {
      const std::vector<std::string> field = unpack(entry);
      const std::size_t group = std::stoul(field[0]);
      environment_[group] = {.target = groups_[group].target,
                             .host = groups_[group].host,
                             .path = field[1],
                             .file_system = field[2],
                             .mount_options = field[3],
                             .source = field[4],
                             .capacity_bytes = std::stoull(field[5]),
                             .available_bytes = std::stoull(field[6]),
                             .available_files = std::stoull(field[8]),
                             .earlier_bytes = std::stoull(field[7])};
      device_of_group_[group] = std::stoull(field[9]);
      entries_of_group_[group] = std::stoull(field[10]);
    }
  }
}

Capacity Workspace::checkpoints_that_fit(const RunPlan& plan, std::optional<std::int64_t> asked) {
  gather_environment();
  std::vector<TargetSpace> spaces;
  const bool overwrites = config_.checkpoint.between_passes == "overwrite";
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    TargetSpace space{.path = environment_[i].path,
                      .file_system = fmt::format("{}:{}", groups_[i].host, device_of_group_[i]),
                      .capacity_bytes = environment_[i].capacity_bytes,
                      .available_bytes = environment_[i].available_bytes,
                      .own = {.bytes = environment_[i].earlier_bytes, .entries = entries_of_group_[i]},
                      .available_files = environment_[i].available_files};
    for (const long rank : groups_[i].ranks) {
      const RankPlan& of_rank = plan.ranks[static_cast<std::size_t>(rank)];
      space.checkpoint_bytes += of_rank.disk_bytes;
      space.checkpoint_files += of_rank.files;
      space.manifest_bytes += of_rank.manifest_bytes;
      if (overwrites && copies_on_write(environment_[i].file_system))
        space.rewrite_bytes += of_rank.largest_file_bytes;
    }
    spaces.push_back(std::move(space));
  }
  return checkpoints_per_pass(spaces, asked, config_.checkpoint.fill_fraction);
}

// What an earlier run of this name left may be what fills the target, and goes anyway.
std::uint64_t Workspace::alignment_of(std::size_t group, const Look& look) {
  const storage::MarkedDirectory& directory = *led_.at(group);
  try {
    return storage::prove_direct_io(directory.path()).io_alignment;
  } catch (const std::system_error& error) {
    const bool full = error.code() == std::errc::no_space_on_device || error.code().value() == EDQUOT;
    if (!full || keeps_run_) throw;
    remove_run_of(group, look);
    if (removed_[group].files == 0) throw;
  }
  return storage::prove_direct_io(directory.path()).io_alignment;
}

void Workspace::remove_run_of(std::size_t group, const Look& look) {
  const storage::SteadyClock clock;
  const auto start = clock.now();
  Removed& removed = removed_[group];
  removed.files += led_.at(group)->remove_run(config_.name, look);
  removed.time += clock.now() - start;
}

void Workspace::prove_direct_io(Interruption& interruption) {
  std::uint64_t alignment = 1;
  together_until_asked(communicator_, interruption, ExitCode::kUnsuitable, [&](const Look& look) {
    for (auto& [group, directory] : led_) {
      const HangGuard guard = guarded("trying direct I/O in", directory->path());
      alignment = std::max(alignment, alignment_of(group, look));
    }
  });
  for (const std::string& part : communicator_.all_gather(std::to_string(alignment))) {
    io_alignment_ = std::max<std::uint64_t>(io_alignment_, std::stoull(part));
  }
  if (config_.storage.block_bytes % io_alignment_ != 0) {
    throw RunFailure(ExitCode::kUsage,
                     fmt::format("storage.block_bytes is {} but direct I/O on this target needs a "
                                 "multiple of {} bytes",
                                 config_.storage.block_bytes, io_alignment_));
  }
  for (TargetEnvironment& target : environment_)
    target.io_alignment = io_alignment_;
}

void Workspace::prove_what_comes_later() {
  together(communicator_, ExitCode::kUnsuitable, [&] {
    for (auto& [group, directory] : led_) {
      const HangGuard guard = guarded("trying preallocation or trimming in", directory->path());
      if (config_.storage.preallocate) storage::prove_preallocation(directory->path());
      if (config_.checkpoint.trim) directory->prove_trim();
    }
  });
}

void Workspace::remove_earlier_run(Interruption& interruption) {
  std::vector<std::string> mine;
  together_until_asked(communicator_, interruption, ExitCode::kUnsuitable, [&](const Look& look) {
    for (auto& [group, directory] : led_) {
      const HangGuard guard = guarded("removing an earlier run from", directory->path());
      directory->remove_strays();
      remove_run_of(group, look);
      const Removed& removed = removed_[group];
      mine.push_back(
          pack({std::to_string(group), std::to_string(removed.files), std::to_string(removed.time.count())}));
    }
  });
  for (const std::string& part : communicator_.all_gather(pack(mine))) {
    for (const std::string& entry : unpack(part)) {
      const std::vector<std::string> field = unpack(entry);
      TargetEnvironment& target = environment_[std::stoul(field[0])];
      target.earlier_files_removed = std::stoll(field[1]);
      target.earlier_removal_ns = std::stoll(field[2]);
    }
  }
}

std::string Workspace::folder_of(long rank, std::int64_t checkpoint) const {
  const std::string& target = config_.storage.targets[groups_[group_of(rank)].target];
  return storage::MarkedDirectory::checkpoint_path(target, config_.name, static_cast<int>(checkpoint))
      .string();
}

storage::Folder Workspace::open_folder_of(long rank, std::int64_t checkpoint) const {
  const std::string& target = config_.storage.targets[groups_[group_of(rank)].target];
  return storage::MarkedDirectory::open_checkpoint(target, config_.name, static_cast<int>(checkpoint));
}

void Workspace::make_folder(std::int64_t checkpoint) {
  together(communicator_, ExitCode::kInputOutput, [&] {
    for (auto& [group, directory] : led_) {
      const HangGuard guard =
          guarded(fmt::format("making the folder of checkpoint {} in", checkpoint), directory->path());
      directory->make_checkpoint_folder(config_.name, static_cast<int>(checkpoint));
    }
  });
}

void Workspace::remove_manifests(std::int64_t checkpoint) {
  together(communicator_, ExitCode::kInputOutput, [&] {
    for (auto& [group, directory] : led_) {
      const HangGuard guard =
          guarded(fmt::format("removing the manifest of checkpoint {} from", checkpoint), directory->path());
      directory->remove_manifests(config_.name, static_cast<int>(checkpoint));
    }
  });
}

void Workspace::remove_checkpoint(std::int64_t checkpoint, Interruption& interruption) {
  together_until_asked(communicator_, interruption, ExitCode::kInputOutput, [&](const Look& look) {
    for (auto& [group, directory] : led_) {
      const HangGuard guard =
          guarded(fmt::format("removing checkpoint {} from", checkpoint), directory->path());
      directory->remove_checkpoint(config_.name, static_cast<int>(checkpoint), look);
    }
  });
}

void Workspace::for_each_led(
    ExitCode system_code,
    const std::function<void(const std::string& target, const std::string& manifest)>& look) {
  together(communicator_, system_code, [&] {
    for (auto& [group, directory] : led_) {
      const HangGuard guard = guarded("looking for finished checkpoints in", directory->path());
      look(config_.storage.targets[groups_[group].target], groups_[group].manifest);
    }
  });
}

void Workspace::remove_checkpoints(std::int64_t count, Interruption& interruption) {
  together_until_asked(communicator_, interruption, ExitCode::kInputOutput, [&](const Look& look) {
    for (auto& [group, directory] : led_) {
      const HangGuard guard = guarded("removing the checkpoints of the last pass from", directory->path());
      for (std::int64_t i = 1; i <= count; ++i)
        directory->remove_checkpoint(config_.name, static_cast<int>(i), look);
    }
  });
}

void Workspace::trim() {
  together(communicator_, ExitCode::kInputOutput, [&] {
    std::set<std::pair<std::string, std::uint64_t>> trimmed;  // two targets of one file system are one trim
    for (auto& [group, directory] : led_) {
      if (!trimmed.emplace(groups_[group].host, device_of_group_[group]).second) continue;
      const HangGuard guard = guarded("trimming", directory->path());
      directory->trim();
    }
  });
}

std::map<std::size_t, std::string> Workspace::gather_manifests(
    const std::string& head, const std::map<long, std::string>& file_entries) {
  std::map<std::size_t, std::string> manifests;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    std::vector<std::string> mine;
    for (const long rank : groups_[i].ranks) {
      const auto entry = file_entries.find(rank);
      if (entry != file_entries.end()) mine.push_back(entry->second);
    }
    std::vector<std::string> all;
    for (const std::string& part : communicator_.gather(pack(mine), groups_[i].leader_process)) {
      for (std::string& entry : unpack(part)) {
        if (!entry.empty()) all.push_back(std::move(entry));
      }
    }
    if (leads(groups_[i])) {
      manifests[i] = seal_manifest(head, {.part = i + 1, .parts = groups_.size()}, all);
    }
  }
  return manifests;
}

void Workspace::publish_manifests(std::int64_t checkpoint,
                                  const std::map<std::size_t, std::string>& manifests) {
  together(communicator_, ExitCode::kInputOutput, [&] {
    for (auto& [group, directory] : led_) {
      const HangGuard guard =
          guarded(fmt::format("writing the manifest of checkpoint {} in", checkpoint), directory->path());
      directory->publish_manifest(config_.name, static_cast<int>(checkpoint), groups_[group].manifest,
                                  manifests.at(group));
    }
  });
}

}  // namespace ckptsim::simulator
