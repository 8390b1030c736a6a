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

// Empty too where the file is gone meanwhile.
std::string text_of(const Folder& directory, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  const std::filesystem::path path = directory.path / name;
  const Descriptor file(
      uninterrupted([&] { return openat(directory.descriptor.get(), name.c_str(), kFlags); }));
  if (file.valid()) return read_small_file(file.get(), path);
  if (errno == ENOENT) return {};
  throw_last_error("open", path);
}

// What a run or `clean` leaves that is killed, or still busy, between lock and marker.
bool is_unfinished(const Folder& directory, const Entry& entry) {
  if (!is_file(entry)) return false;
  if (entry.name == kLockFile) return is_lock_text(text_of(directory, entry.name));
  return entry.name == kMarkerTemporary &&
         std::string_view(kMarkerText).starts_with(text_of(directory, entry.name));
}

// The first entry that is not; empty where there is none.
std::string foreign_entry(const Folder& directory, const std::vector<Entry>& entries) {
  const auto foreign = std::find_if_not(entries.begin(), entries.end(),
                                        [&](const Entry& entry) { return is_unfinished(directory, entry); });
  return foreign == entries.end() ? std::string() : foreign->name;
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
  if (entries.empty()) return Marking::kEmpty;
  return foreign_entry(directory, entries).empty() ? Marking::kUnfinished : Marking::kForeign;
}

void refuse_unmarked(const Folder& directory) {
  const std::string foreign = foreign_entry(directory, entries_of(directory, Facts::kKinds));
  throw UnsuitableTarget(fmt::format(
      "{} holds {}, which this program did not write, and no marker of it ({}), so it is left alone; "
      "rename it or use another target",
      directory.path.string(), foreign.empty() ? "something" : foreign, kMarker));
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
