#include "storage/target/checkpoint_removal.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/errors.h"

namespace ckptsim::storage {
namespace {

constexpr std::string_view kCheckpointPrefix = "checkpoint_";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::uint64_t kStatBlockBytes = 512;  // the unit of st_blocks, whatever the file system's

bool is_manifest_or_temporary(std::string_view name) {
  if (name.ends_with(kTemporarySuffix)) name.remove_suffix(kTemporarySuffix.size());
  return is_manifest(name);
}

bool is_torch_file(std::string_view name) {
  return name.ends_with(".pt");
}

bool is_file(const Entry& entry) {
  return S_ISREG(entry.facts.st_mode);
}

bool is_folder(const Entry& entry) {
  return S_ISDIR(entry.facts.st_mode);
}

std::uint64_t allocated_bytes(const Entry& entry) {
  return static_cast<std::uint64_t>(entry.facts.st_blocks) * kStatBlockBytes;
}

[[noreturn]] void refuse(const Folder& folder, const Entry& entry) {
  throw UnsuitableTarget(fmt::format(
      "{} was not made by this program, so nothing of its run is removed; move it away or choose another "
      "name for the run",
      (folder.path / entry.name).string()));
}

std::uint64_t survey_torch_files(const Folder& folder) {
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries_of(folder)) {
    if (!is_file(entry) || !is_torch_file(entry.name)) refuse(folder, entry);
    bytes += allocated_bytes(entry);
  }
  return bytes;
}

std::uint64_t remove_torch_files(const Folder& folder) {
  std::uint64_t removed = 0;
  for (const Entry& entry : entries_of(folder)) {
    if (!is_file(entry) || !is_torch_file(entry.name)) continue;
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
  return name.starts_with("manifest") && name.ends_with(".json");
}

std::string manifest_temporary(std::string_view manifest) {
  return fmt::format("{}{}", manifest, kTemporarySuffix);
}

std::uint64_t survey_run(const Folder& run) {
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries_of(run)) {
    if (!is_folder(entry) || !is_checkpoint_folder_name(entry.name)) refuse(run, entry);
    bytes += allocated_bytes(entry) + survey_checkpoint(existing(open_folder(run, entry.name)));
  }
  return bytes;
}

std::uint64_t survey_checkpoint(const Folder& checkpoint) {
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries_of(checkpoint)) {
    const bool ours = is_file(entry) && (is_torch_file(entry.name) || is_manifest_or_temporary(entry.name));
    if (!ours && !is_folder(entry)) refuse(checkpoint, entry);
    bytes += allocated_bytes(entry);
    if (is_folder(entry)) bytes += survey_torch_files(existing(open_folder(checkpoint, entry.name)));
  }
  return bytes;
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

std::uint64_t remove_surveyed_checkpoint(const Folder& run, const std::string& name) {
  const Folder checkpoint = existing(open_folder(run, name));
  std::uint64_t removed = remove_manifests_of(checkpoint);
  for (const Entry& entry : entries_of(checkpoint)) {
    if (!is_folder(entry)) continue;
    removed += remove_torch_files(existing(open_folder(checkpoint, entry.name)));
    remove_folder(checkpoint, entry.name);
  }
  removed += remove_torch_files(checkpoint);
  remove_folder(run, name);
  return removed;
}

}  // namespace ckptsim::storage
