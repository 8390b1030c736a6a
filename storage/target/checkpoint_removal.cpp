#include "storage/target/checkpoint_removal.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/errors.h"
#include "storage/target/data_file_name.h"

namespace ckptsim::storage {
namespace {

constexpr std::string_view kCheckpointPrefix = "checkpoint_";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::uint64_t kStatBlockBytes = 512;  // the unit of st_blocks, whatever the file system's

bool is_manifest_or_temporary(std::string_view name) {
  if (name.ends_with(kTemporarySuffix)) name.remove_suffix(kTemporarySuffix.size());
  return is_manifest(name);
}

bool is_file(const Entry& entry) {
  return S_ISREG(entry.facts.st_mode);
}

bool is_folder(const Entry& entry) {
  return S_ISDIR(entry.facts.st_mode);
}

bool is_data_file(const Entry& entry) {
  return is_file(entry) && is_data_file_name(entry.name);
}

// A file that has another name is not freed by losing this one.
Contents contents_of(const Entry& entry) {
  const bool freed = is_folder(entry) || entry.facts.st_nlink <= 1;
  Contents contents{.entries = 1};
  if (is_file(entry)) {
    contents.files = 1;
    contents.file_bytes = static_cast<std::uint64_t>(entry.facts.st_size);
  }
  if (freed) contents.allocated_bytes = static_cast<std::uint64_t>(entry.facts.st_blocks) * kStatBlockBytes;
  return contents;
}

[[noreturn]] void refuse_mounted(const std::filesystem::path& path) {
  throw UnsuitableTarget(fmt::format(
      "something is mounted on {}, among the files of this program, so nothing is written or removed there; "
      "unmount it or use another target",
      path.string()));
}

// By a folder's entries, one after another.
template <typename Recognise>
Contents survey(const Folder& folder, Facts facts, Recognise recognise) {
  Contents contents;
  for (const Entry& entry : entries_of(folder, facts)) {
    if (entry.mount_point) refuse_mounted(folder.path / entry.name);
    if (!recognise(entry)) refuse_foreign(folder.path / entry.name);
    contents += contents_of(entry);
  }
  return contents;
}

void refuse_other_names(const Folder& folder) {
  for (const Entry& entry : entries_of(folder)) {
    if (!is_file(entry) || is_own_file(entry.facts)) continue;
    throw UnsuitableTarget(fmt::format(
        "{} has another name elsewhere (a hard link), and writing it again would change that file "
        "as well; remove one of the two, or let checkpoint.between_passes be delete",
        (folder.path / entry.name).string()));
  }
}

std::uint64_t remove_data_files(const Folder& folder, const BeforeFile& before_file) {
  std::uint64_t removed = 0;
  for (const Entry& entry : entries_of(folder)) {
    if (!is_data_file(entry)) continue;
    if (before_file) before_file();
    remove_file(folder, entry.name);
    ++removed;
  }
  return removed;
}

}  // namespace

std::string checkpoint_folder_name(int checkpoint) {
  return fmt::format("{}{:02}", kCheckpointPrefix, checkpoint);
}

bool is_checkpoint_folder_name(std::string_view name) {
  if (!name.starts_with(kCheckpointPrefix)) return false;
  const std::string_view digits = name.substr(kCheckpointPrefix.size());
  return digits.size() >= 2 &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_manifest(std::string_view name) {
  if (name == "manifest.json") return true;
  constexpr std::string_view kBeforeHost = "manifest-";
  constexpr std::string_view kBehindHost = ".json";
  return name.size() > kBeforeHost.size() + kBehindHost.size() && name.starts_with(kBeforeHost) &&
         name.ends_with(kBehindHost);
}

std::string manifest_temporary(std::string_view manifest) {
  return fmt::format("{}{}", manifest, kTemporarySuffix);
}

Contents& Contents::operator+=(const Contents& other) {
  checkpoints += other.checkpoints;
  files += other.files;
  entries += other.entries;
  file_bytes += other.file_bytes;
  allocated_bytes += other.allocated_bytes;
  return *this;
}

void refuse_foreign(const std::filesystem::path& path) {
  throw UnsuitableTarget(
      fmt::format("{} was not made by this program, so nothing is written or removed there; move it away or "
                  "use another target",
                  path.string()));
}

Contents survey_run(const Folder& run, Facts facts) {
  Contents below;
  const auto recognise = [&](const Entry& entry) {
    if (!is_folder(entry) || !is_checkpoint_folder_name(entry.name)) return false;
    below += survey_checkpoint(existing(open_folder(run, entry.name)), facts);
    ++below.checkpoints;
    return true;
  };
  Contents contents = survey(run, facts, recognise);
  return contents += below;
}

Contents survey_checkpoint(const Folder& checkpoint, Facts facts) {
  return survey(checkpoint, facts, [](const Entry& entry) {
    return is_data_file(entry) || (is_file(entry) && is_manifest_or_temporary(entry.name));
  });
}

void check_rewritable(const Folder& checkpoint) {
  (void)survey_checkpoint(checkpoint);
  refuse_other_names(checkpoint);
}

std::uint64_t remove_manifests_of(const Folder& checkpoint) {
  std::uint64_t removed = 0;
  for (const Entry& entry : entries_of(checkpoint)) {
    if (!is_file(entry) || !is_manifest_or_temporary(entry.name)) continue;
    remove_file(checkpoint, entry.name);
    ++removed;
  }
  if (removed > 0) sync_folder(checkpoint);
  return removed;
}

std::uint64_t remove_surveyed_checkpoint(const Folder& run, const std::string& name,
                                         const BeforeFile& before_file) {
  const Folder checkpoint = existing(open_folder(run, name));
  std::uint64_t removed = remove_manifests_of(checkpoint);
  removed += remove_data_files(checkpoint, before_file);
  remove_folder(run, name);
  return removed;
}

std::uint64_t remove_surveyed_run(const Folder& directory, const std::string& name,
                                  const BeforeFile& before_file) {
  const Folder run = existing(open_folder(directory, name));
  std::uint64_t removed = 0;
  for (const Entry& entry : entries_of(run, Facts::kKinds))
    removed += remove_surveyed_checkpoint(run, entry.name, before_file);
  remove_folder(directory, name);
  sync_folder(directory);
  return removed;
}

}  // namespace ckptsim::storage
