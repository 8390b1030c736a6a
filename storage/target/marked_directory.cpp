#include "storage/target/marked_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>

#include "storage/errors.h"
#include "storage/target/checkpoint_removal.h"
#include "storage/uninterrupted.h"

namespace ckptsim::storage {
namespace {

constexpr const char* kDirectory = "ckptsim";
constexpr const char* kMarker = ".ckptsim-directory";
constexpr const char* kMarkerTemporary = ".ckptsim-directory.tmp";
constexpr const char* kMarkerText = "{\"schema\":\"ckptsim.target/1\"}\n";

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
    if (error.code() == std::errc::no_space_on_device) {
      throw UnsuitableTarget(
          fmt::format("target {} is full ({}); free some space", target.string(), error.what()));
    }
    throw;
  }
}

// The target itself may be a link: it is the user's word, and nothing in it is removed.
Folder open_target(const std::filesystem::path& target) {
  Folder folder{Descriptor(), target};
  folder.descriptor =
      Descriptor(uninterrupted([&] { return open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (folder.exists()) return folder;
  if (errno == ENOENT) {
    throw UnsuitableTarget(
        fmt::format("target {} does not exist; make the folder or mount the drive first", target.string()));
  }
  if (errno == ENOTDIR) {
    throw UnsuitableTarget(
        fmt::format("target {} is not a directory; name a folder on the drive", target.string()));
  }
  throw_last_error("open", target);
}

// True when it carries the marker; false when it is empty and may be adopted. UnsuitableTarget otherwise.
bool is_marked(const Folder& folder) {
  const std::filesystem::path path = folder.path / kMarker;
  constexpr int kMarkerFlags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  const Descriptor marker(
      uninterrupted([&] { return openat(folder.descriptor.get(), kMarker, kMarkerFlags); }));
  if (marker.valid()) {
    if (read_small_file(marker.get(), path) == kMarkerText) return true;
    throw UnsuitableTarget(
        fmt::format("{} is not the marker that this version writes; use another target", path.string()));
  }
  if (errno == ELOOP) throw UnsuitableTarget(fmt::format("{} is a link; remove it", path.string()));
  if (errno != ENOENT) throw_last_error("open", path);
  for (const Entry& entry : entries_of(folder)) {
    // What a run leaves that is killed, or still busy, between its lock and its marker.
    const bool ours =
        S_ISREG(entry.facts.st_mode) && (entry.name == kLockFile || entry.name == kMarkerTemporary);
    if (!ours) {
      throw UnsuitableTarget(
          fmt::format("{} holds {} but no marker of this program ({}), so it is left alone; rename "
                      "it or use another target",
                      folder.path.string(), entry.name, kMarker));
    }
  }
  return false;
}

void check_run_name(std::string_view run) {
  const bool plain = !run.empty() && run.front() != '.' && run.find('/') == std::string_view::npos &&
                     run.find('\0') == std::string_view::npos;
  if (!plain) {
    throw UnsuitableTarget(
        fmt::format("a run named \"{}\" cannot have a folder of that name; no slash, no leading dot", run));
  }
}

Folder open_run(const Folder& directory, std::string_view run) {
  check_run_name(run);
  return open_folder(directory, std::string(run));
}

Folder open_checkpoint(const Folder& directory, std::string_view run, int checkpoint) {
  const Folder run_folder = open_run(directory, run);
  const std::string name = checkpoint_folder_name(checkpoint);
  if (!run_folder.exists()) return {Descriptor(), run_folder.path / name};
  return open_folder(run_folder, name);
}

}  // namespace

MarkedDirectory::MarkedDirectory(const std::filesystem::path& target) : path_(target / kDirectory) {
  const Folder target_folder = open_target(target);
  on_writable_target(target, [&] {
    directory_ = make_folder(target_folder, kDirectory);
    // Before the lock: a folder that is not ours does not even get a lock file.
    (void)is_marked(directory_);
    lock_ = DirectoryLock(directory_);
    if (!is_marked(directory_)) publish(directory_, kMarkerTemporary, kMarker, kMarkerText);
  });
}

MarkedDirectory::~MarkedDirectory() = default;

std::filesystem::path MarkedDirectory::checkpoint_path(const std::filesystem::path& target,
                                                       std::string_view run, int checkpoint) {
  return target / kDirectory / run / checkpoint_folder_name(checkpoint);
}

std::uint64_t MarkedDirectory::run_bytes(std::string_view run) const {
  const Folder folder = open_run(directory_, run);
  return folder.exists() ? survey_run(folder) : 0;
}

std::uint64_t MarkedDirectory::run_bytes_under(const std::filesystem::path& target, std::string_view run) {
  const Folder directory = open_folder(open_target(target), kDirectory);
  if (!directory.exists()) return 0;
  const Folder folder = open_run(directory, run);
  return folder.exists() ? survey_run(folder) : 0;
}

std::uint64_t MarkedDirectory::remove_run(std::string_view run) {
  const Folder folder = open_run(directory_, run);
  if (!folder.exists()) return 0;
  (void)survey_run(folder);
  std::uint64_t removed = 0;
  for (const Entry& entry : entries_of(folder))
    removed += remove_surveyed_checkpoint(folder, entry.name);
  remove_folder(directory_, std::string(run));
  sync_folder(directory_);
  return removed;
}

void MarkedDirectory::remove_checkpoint(std::string_view run, int checkpoint) {
  const Folder folder = open_checkpoint(directory_, run, checkpoint);
  if (!folder.exists()) return;
  (void)survey_checkpoint(folder);
  const Folder run_folder = open_run(directory_, run);
  (void)remove_surveyed_checkpoint(run_folder, checkpoint_folder_name(checkpoint));
  sync_folder(run_folder);
}

void MarkedDirectory::make_checkpoint_folder(std::string_view run, int checkpoint) {
  check_run_name(run);
  const Folder run_folder = make_folder(directory_, std::string(run));
  (void)make_folder(run_folder, checkpoint_folder_name(checkpoint));
}

void MarkedDirectory::remove_manifests(std::string_view run, int checkpoint) {
  const Folder folder = open_checkpoint(directory_, run, checkpoint);
  if (folder.exists()) (void)remove_manifests_of(folder);
}

void MarkedDirectory::publish_manifest(std::string_view run, int checkpoint, std::string_view file,
                                       std::string_view text) {
  if (!is_manifest(file) || file.find('/') != std::string_view::npos) {
    throw std::invalid_argument(fmt::format("a manifest is named manifest*.json, not {}", file));
  }
  const Folder folder = existing(open_checkpoint(directory_, run, checkpoint));
  publish(folder, manifest_temporary(file), std::string(file), text);
}

bool MarkedDirectory::is_marked_folder(const std::filesystem::path& folder) {
  struct stat facts {};
  return lstat((folder / kMarker).c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
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
