#include "storage/target/marked_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>
#include <string>
#include <vector>

#include "storage/errors.h"
#include "storage/target/directory_survey.h"

namespace ckptsim::storage {
namespace {

// How often a folder that `clean` takes away meanwhile is made again.
constexpr int kMostAttempts = 10;

// Runs a step of taking possession; what the system says about a target that cannot be written is the
// target's fault.
template <typename Step>
auto on_writable_target(const std::filesystem::path& target, Step step) {
  try {
    return step();
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::read_only_file_system) {
      throw UnsuitableTarget(
          fmt::format("target {} is on a read-only file system; mount it read-write", target.string()));
    }
    if (error.code() == std::errc::permission_denied || error.code() == std::errc::operation_not_permitted) {
      throw UnsuitableTarget(
          fmt::format("target {} may not be written by this user ({}); change its owner or mode",
                      target.string(), error.what()));
    }
    if (error.code() == std::errc::no_space_on_device || error.code().value() == EDQUOT) {
      throw UnsuitableTarget(
          fmt::format("target {} is full ({}); free some space", target.string(), error.what()));
    }
    throw;
  }
}

void check_run_name(std::string_view run) {
  if (!is_run_name(run)) {
    throw UnsuitableTarget(
        fmt::format("a run named \"{}\" cannot have a folder of that name; no slash, no leading dot", run));
  }
}

Folder open_run(const Folder& directory, std::string_view run) {
  check_run_name(run);
  return open_folder(directory, std::string(run));
}

Folder checkpoint_below(const Folder& directory, std::string_view run, int checkpoint) {
  const Folder run_folder = open_run(directory, run);
  const std::string name = checkpoint_folder_name(checkpoint);
  if (!run_folder.exists()) return {Descriptor(), run_folder.path / name};
  return open_folder(run_folder, name);
}

}  // namespace

MarkedDirectory::MarkedDirectory(const std::filesystem::path& target) : path_(target / kMarkedDirectory) {
  const Folder target_folder = open_target(target);
  on_writable_target(target, [&] {
    for (int attempt = 1;; ++attempt) {
      try {
        return take_possession(target_folder);
      } catch (const std::system_error& error) {
        if (error.code() != std::errc::no_such_file_or_directory || attempt == kMostAttempts) throw;
      }
    }
  });
}

// ENOENT: the folder or its lock went between two steps, by another process's `clean`.
void MarkedDirectory::take_possession(const Folder& target) {
  directory_ = make_folder(target, kMarkedDirectory);
  // Before the lock: a folder that is not ours does not even get a lock file.
  if (marking_of(directory_) == Marking::kForeign) refuse_unmarked(directory_);
  lock_ = DirectoryLock(directory_);
  if (marking_of(directory_) != Marking::kMarked) publish(directory_, kMarkerTemporary, kMarker, kMarkerText);
}

MarkedDirectory::~MarkedDirectory() = default;

std::filesystem::path MarkedDirectory::checkpoint_path(const std::filesystem::path& target,
                                                       std::string_view run, int checkpoint) {
  return target / kMarkedDirectory / run / checkpoint_folder_name(checkpoint);
}

Folder MarkedDirectory::open_checkpoint(const std::filesystem::path& target, std::string_view run,
                                        int checkpoint) {
  const Folder directory = existing(open_folder(open_target(target), kMarkedDirectory));
  return existing(checkpoint_below(directory, run, checkpoint));
}

Contents MarkedDirectory::run_contents(std::string_view run) const {
  const Folder folder = open_run(directory_, run);
  return folder.exists() ? survey_run(folder) : Contents{};
}

Contents MarkedDirectory::survey(const std::filesystem::path& target, std::string_view run) {
  const Folder directory = open_folder(open_target(target), kMarkedDirectory);
  if (!directory.exists()) return {};
  if (marking_of(directory) == Marking::kForeign) refuse_unmarked(directory);
  (void)survey_directory(directory);
  const Folder folder = open_run(directory, run);
  return folder.exists() ? survey_run(folder) : Contents{};
}

std::uint64_t MarkedDirectory::remove_strays() {
  const std::vector<std::string> strays = survey_directory(directory_).strays;
  for (const std::string& name : strays)
    remove_file(directory_, name);
  return strays.size();
}

std::uint64_t MarkedDirectory::remove_run(std::string_view run, const BeforeFile& before_file) {
  const Folder folder = open_run(directory_, run);
  if (!folder.exists()) return 0;
  (void)survey_run(folder);
  return remove_surveyed_run(directory_, std::string(run), before_file);
}

void MarkedDirectory::remove_checkpoint(std::string_view run, int checkpoint, const BeforeFile& before_file) {
  const Folder folder = checkpoint_below(directory_, run, checkpoint);
  if (!folder.exists()) return;
  (void)survey_checkpoint(folder);
  const Folder run_folder = open_run(directory_, run);
  (void)remove_surveyed_checkpoint(run_folder, checkpoint_folder_name(checkpoint), before_file);
  sync_folder(run_folder);
}

void MarkedDirectory::make_checkpoint_folder(std::string_view run, int checkpoint) {
  check_run_name(run);
  const Folder run_folder = make_folder(directory_, std::string(run));
  (void)make_folder(run_folder, checkpoint_folder_name(checkpoint));
}

void MarkedDirectory::remove_manifests(std::string_view run, int checkpoint) {
  const Folder folder = checkpoint_below(directory_, run, checkpoint);
  if (!folder.exists()) return;
  check_rewritable(folder);
  (void)remove_manifests_of(folder);
}

void MarkedDirectory::publish_manifest(std::string_view run, int checkpoint, std::string_view file,
                                       std::string_view text) {
  if (!is_manifest(file) || file.find('/') != std::string_view::npos) {
    throw std::invalid_argument(
        fmt::format("a manifest is named manifest.json or manifest-HOST.json, not {}", file));
  }
  const Folder folder = existing(checkpoint_below(directory_, run, checkpoint));
  publish(folder, manifest_temporary(file), std::string(file), text);
}

bool MarkedDirectory::is_marked_folder(const std::filesystem::path& folder) {
  struct stat facts {};
  return lstat((folder / kMarker).c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

std::filesystem::path MarkedDirectory::marked_folder_around(const std::filesystem::path& path) {
  // Absolute first: of a relative path that does not exist nothing would be made absolute.
  std::filesystem::path folder = std::filesystem::weakly_canonical(std::filesystem::absolute(path));
  for (; folder != folder.root_path(); folder = folder.parent_path()) {
    if (is_marked_folder(folder)) return folder;
  }
  return {};
}

void MarkedDirectory::prove_trim() {
  fstrim_range first{0, std::uint64_t{1} << 20, 0};
  if (ioctl(directory_.descriptor.get(), FITRIM, &first) == 0) return;
  throw UnsuitableTarget(
      fmt::format("{} cannot be trimmed: {}; checkpoint.trim needs root and a file system and drive "
                  "that can (set it to false otherwise)",
                  path_.string(), std::generic_category().message(errno)));
}

void MarkedDirectory::trim() {
  fstrim_range everything{0, std::numeric_limits<std::uint64_t>::max(), 0};
  if (ioctl(directory_.descriptor.get(), FITRIM, &everything) != 0) throw_last_error("trim", path_);
}

}  // namespace ckptsim::storage
