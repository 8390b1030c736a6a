#include "storage/target/directory_survey.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "storage/errors.h"
#include "storage/target/checkpoint_removal.h"
#include "storage/target/directory_lock.h"
#include "storage/uninterrupted.h"

namespace ckptsim::storage {
namespace {

constexpr std::string_view kProbePrefix = ".ckptsim-probe-";
constexpr std::size_t kProbeLetters = 6;  // mkstemp's

bool is_probe_name(std::string_view name) {
  if (!name.starts_with(kProbePrefix)) return false;
  name.remove_prefix(kProbePrefix.size());
  return name.size() == kProbeLetters && std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0;
         });
}

bool is_file(const Entry& entry) {
  return S_ISREG(entry.facts.st_mode);
}

// What a run or `clean` leaves that is killed, or still busy, between lock and marker.
bool is_unfinished(const Entry& entry) {
  return is_file(entry) && (entry.name == kLockFile || entry.name == kMarkerTemporary);
}

}  // namespace

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

bool is_run_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

Marking marking_of(const Folder& directory) {
  const std::filesystem::path path = directory.path / kMarker;
  constexpr int kMarkerFlags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  const Descriptor marker(
      uninterrupted([&] { return openat(directory.descriptor.get(), kMarker, kMarkerFlags); }));
  if (marker.valid()) {
    struct stat facts {};
    if (fstat(marker.get(), &facts) != 0) throw_last_error("stat", path);
    if (S_ISREG(facts.st_mode) && read_small_file(marker.get(), path) == kMarkerText) return Marking::kMarked;
    throw UnsuitableTarget(
        fmt::format("{} is not the marker that this version writes; use another target", path.string()));
  }
  if (errno == ELOOP) throw UnsuitableTarget(fmt::format("{} is a link; remove it", path.string()));
  if (errno != ENOENT) throw_last_error("open", path);
  const std::vector<Entry> entries = entries_of(directory, Facts::kKinds);
  return std::all_of(entries.begin(), entries.end(), is_unfinished) ? Marking::kUnfinished
                                                                    : Marking::kForeign;
}

void refuse_unmarked(const Folder& directory) {
  const std::vector<Entry> entries = entries_of(directory, Facts::kKinds);
  const auto foreign = std::find_if_not(entries.begin(), entries.end(), is_unfinished);
  throw UnsuitableTarget(
      fmt::format("{} holds {} but no marker of this program ({}), so it is left alone; rename it or use "
                  "another target",
                  directory.path.string(), foreign == entries.end() ? "something" : foreign->name, kMarker));
}

DirectoryContents survey_directory(const Folder& directory) {
  DirectoryContents contents;
  for (const Entry& entry : entries_of(directory, Facts::kKinds)) {
    if (S_ISDIR(entry.facts.st_mode) && is_run_name(entry.name)) {
      (void)survey_run(existing(open_folder(directory, entry.name)), Facts::kKinds);
      contents.runs.push_back(entry.name);
    } else if (is_file(entry) && (is_probe_name(entry.name) || entry.name == kMarkerTemporary)) {
      contents.strays.push_back(entry.name);
    } else if (!is_file(entry) || (entry.name != kMarker && entry.name != kLockFile)) {
      refuse_foreign(directory.path / entry.name);
    }
  }
  return contents;
}

}  // namespace ckptsim::storage
