#include "simulator/verify/checkpoint_search.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "storage/errors.h"
#include "storage/target/checkpoint_removal.h"
#include "storage/target/directory_survey.h"
#include "storage/target/marked_directory.h"

namespace ckptsim::simulator {
namespace {

namespace fs = std::filesystem;
using storage::Entry;
using storage::Folder;

constexpr const char* kDirectory = "ckptsim";

bool is_folder_or_link(const Entry& entry) {
  return S_ISDIR(entry.facts.st_mode) || S_ISLNK(entry.facts.st_mode);
}

Folder open_root(const std::string& root) {
  Folder folder{storage::Descriptor(), root};
  folder.descriptor = storage::Descriptor(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.exists()) return folder;
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR || error == EACCES) {
    throw storage::UnsuitableTarget(fmt::format("{}: {}; name a target, or a folder of checkpoints on it",
                                                root, std::generic_category().message(error)));
  }
  storage::throw_last_error("open", root);
}

// Checkpoints of one named folder, gathered level by level.
class Search {
 public:
  Search(std::string root, SearchResult& result) : root_(std::move(root)), result_(result) {}

  void go() {
    const Folder folder = open_root(root_);
    const fs::path place = fs::canonical(root_);
    hold_lock_above(place);
    const std::vector<Entry> entries = storage::entries_of(folder);
    if (storage::MarkedDirectory::is_marked_folder(place)) {
      check_marker(folder);
      return see_directory(folder, entries, {});
    }
    if (has_checkpoints(entries)) return see_run(folder, entries, {}, place.filename());
    if (storage::is_checkpoint_folder_name(place.filename().string()) || has_manifest(entries))
      return see_checkpoint(entries, {}, place.parent_path().filename(), place.filename());
    const Folder directory = storage::open_folder(folder, kDirectory);
    if (directory.exists()) {
      check_marker(directory);
      below_marked_ = true;
      locks_.emplace_back(directory);
      return see_directory(directory, storage::entries_of(directory), {kDirectory});
    }
    if (!below_marked_) refuse();
  }

 private:
  using Folders = std::vector<std::string>;

  [[noreturn]] void refuse() const {
    throw storage::UnsuitableTarget(
        fmt::format("{} holds no checkpoint of this program; name a target, its ckptsim/, a run in it or a "
                    "checkpoint",
                    root_));
  }

  // A marker that is damaged is refused in the words of a run.
  void check_marker(const Folder& directory) const {
    if (storage::marking_of(directory) != storage::Marking::kMarked) refuse();
  }

  // Of the ckptsim/ that the folder is, or is in. A copy elsewhere has no lock.
  void hold_lock_above(const fs::path& place) {
    constexpr int kLevels = 3;  // ckptsim/, run, checkpoint
    fs::path folder = place;
    for (int level = 0; level < kLevels && folder != folder.root_path(); ++level) {
      if (storage::MarkedDirectory::is_marked_folder(folder)) {
        below_marked_ = true;
        locks_.emplace_back(open_root(folder.string()));
        return;
      }
      folder = folder.parent_path();
    }
  }

  static bool has_manifest(const std::vector<Entry>& entries) {
    return std::any_of(entries.begin(), entries.end(),
                       [](const Entry& entry) { return storage::is_manifest(entry.name); });
  }
  static bool has_checkpoints(const std::vector<Entry>& entries) {
    return std::any_of(entries.begin(), entries.end(), [](const Entry& entry) {
      return is_folder_or_link(entry) && storage::is_checkpoint_folder_name(entry.name);
    });
  }

  void see_directory(const Folder& directory, const std::vector<Entry>& entries, const Folders& way) {
    for (const Entry& entry : entries) {
      if (!is_folder_or_link(entry)) continue;
      const Folder run = storage::existing(storage::open_folder(directory, entry.name));
      Folders below = way;
      below.push_back(entry.name);
      see_run(run, storage::entries_of(run), below, entry.name);
    }
  }

  void see_run(const Folder& run, const std::vector<Entry>& entries, const Folders& way,
               const std::string& name) {
    for (const Entry& entry : entries) {
      if (!is_folder_or_link(entry) || !storage::is_checkpoint_folder_name(entry.name)) continue;
      const Folder checkpoint = storage::existing(storage::open_folder(run, entry.name));
      Folders below = way;
      below.push_back(entry.name);
      see_checkpoint(storage::entries_of(checkpoint), below, name, entry.name);
    }
  }

  void see_checkpoint(const std::vector<Entry>& entries, const Folders& way, const std::string& run,
                      const std::string& folder) {
    FoundCheckpoint found{
        .root = root_, .folders = way, .manifests = {}, .run = below_marked_ ? run : "", .folder = folder};
    for (const Entry& entry : entries) {
      if (storage::is_manifest(entry.name)) found.manifests.push_back(entry.name);
    }
    result_.checkpoints.push_back(std::move(found));
  }

  std::string root_;
  SearchResult& result_;
  std::vector<storage::ReadLock>& locks_ = result_.locks;
  bool below_marked_ = false;
};

}  // namespace

std::string FoundCheckpoint::path() const {
  fs::path path = root;
  for (const std::string& name : folders)
    path /= name;
  return path.string();
}

void find_checkpoints(const std::string& folder, SearchResult& result) {
  Search(folder, result).go();
}

Folder open_checkpoint(const FoundCheckpoint& checkpoint) {
  Folder folder = open_root(checkpoint.root);
  for (const std::string& name : checkpoint.folders)
    folder = storage::existing(storage::open_folder(folder, name));
  return folder;
}

std::map<std::string, struct stat> list_checkpoint(const Folder& checkpoint) {
  std::map<std::string, struct stat> found;
  for (const Entry& entry : storage::entries_of(checkpoint)) {
    if (!S_ISDIR(entry.facts.st_mode)) {
      found.emplace(entry.name, entry.facts);
      continue;
    }
    const std::vector<Entry> below =
        storage::entries_of(storage::existing(storage::open_folder(checkpoint, entry.name)));
    if (below.empty()) found.emplace(entry.name, entry.facts);
    for (const Entry& inner : below)
      found.emplace(entry.name + "/" + inner.name, inner.facts);
  }
  return found;
}

}  // namespace ckptsim::simulator
