#include "storage/target/cleaning.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "storage/errors.h"
#include "storage/target/directory_lock.h"
#include "storage/target/directory_survey.h"

namespace ckptsim::storage {
namespace {

namespace fs = std::filesystem;

// What a scope's folders are, before anything is removed.
struct Opened {
  Folder target;
  Folder directory;  // TARGET/ckptsim
};

// Between the lock's end and its own the marked folder is empty, and looks like anybody's.
[[noreturn]] void refuse_empty(const Folder& directory) {
  throw UnsuitableTarget(fmt::format(
      "{} is empty and carries no marker ({}), so that nothing says that this program made it; it "
      "is left alone, and rmdir removes it",
      directory.path.string(), kMarker));
}

Opened open_scope(const CleaningScope& scope) {
  Opened opened{open_target(scope.target), {}};
  opened.directory = existing(open_folder(opened.target, kMarkedDirectory));
  const Marking marking = marking_of(opened.directory);
  if (marking == Marking::kForeign) refuse_unmarked(opened.directory);
  if (marking == Marking::kEmpty) refuse_empty(opened.directory);
  return opened;
}

// Whether it is a marked folder, or what a run or clean() that was killed leaves of one.
bool is_ours(const Folder& directory) {
  if (!directory.exists()) return false;
  const Marking marking = marking_of(directory);
  if (marking == Marking::kEmpty) refuse_empty(directory);
  return marking != Marking::kForeign;
}

bool is_marked_directory(const fs::path& path) {
  if (path.filename() != kMarkedDirectory) return false;
  const Folder directory = open_folder(open_target(path.parent_path()), kMarkedDirectory);
  return directory.exists() && marking_of(directory) == Marking::kMarked;
}

[[noreturn]] void refuse_missing_run(const Folder& directory, const std::string& run) {
  const std::vector<std::string> runs = survey_directory(directory).runs;
  throw UnsuitableTarget(fmt::format("{} holds no run named {}; {}", directory.path.string(), run,
                                     runs.empty() ? std::string("it holds none")
                                                  : fmt::format("it holds {}", fmt::join(runs, ", "))));
}

CleanedRun survey_one_run(const Folder& directory, const CleaningScope& scope) {
  const Folder run = open_folder(directory, scope.run);
  if (!run.exists()) refuse_missing_run(directory, scope.run);
  CleanedRun cleaned{.name = scope.run, .contents = {}};
  if (scope.checkpoint.empty()) {
    cleaned.contents = survey_run(run);
  } else {
    cleaned.contents = survey_checkpoint(existing(open_folder(run, scope.checkpoint)));
    ++cleaned.contents.checkpoints;
    cleaned.whole = entries_of(run, Facts::kKinds).size() == 1;
  }
  ++cleaned.contents.entries;
  return cleaned;
}

Cleaning survey_opened(const CleaningScope& scope, const Folder& directory) {
  Cleaning cleaning;
  if (scope.run.empty()) {
    for (const std::string& run : survey_directory(directory).runs) {
      cleaning.runs.push_back(survey_one_run(directory, {scope.target, run, ""}));
    }
    cleaning.marked_directory = directory.path;
    return cleaning;
  }
  cleaning.runs.push_back(survey_one_run(directory, scope));
  return cleaning;
}

// False: it still holds something.
bool remove_if_empty(const Folder& parent, const std::string& name) {
  if (unlinkat(parent.descriptor.get(), name.c_str(), AT_REMOVEDIR) == 0) return true;
  if (errno == ENOTEMPTY || errno == EEXIST) return false;
  throw_last_error("remove", parent.path / name);
}

// Whether the run went with its last checkpoint.
bool remove_one_checkpoint(const Folder& directory, const CleaningScope& scope) {
  const Folder run = existing(open_folder(directory, scope.run));
  (void)remove_surveyed_checkpoint(run, scope.checkpoint);
  sync_folder(run);
  const bool run_went = remove_if_empty(directory, scope.run);  // without a checkpoint it has no purpose
  sync_folder(directory);
  return run_went;
}

void remove_where_there(const Folder& folder, const std::string& name) {
  if (unlinkat(folder.descriptor.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    throw_last_error("remove", folder.path / name);
}

// The marker before the lock: without its lock a marked folder would be free to be taken, and would then lose
// its marker. Whoever takes the folder once the lock is gone makes a lock of its own, and so keeps the
// folder: false.
bool remove_marked_directory(const Opened& opened) {
  const Folder& directory = opened.directory;
  for (const std::string& stray : survey_directory(directory).strays)
    remove_where_there(directory, stray);
  remove_where_there(directory, kMarker);
  sync_folder(directory);
  remove_where_there(directory, kLockFile);
  const bool gone = remove_if_empty(opened.target, kMarkedDirectory);
  sync_folder(opened.target);
  return gone;
}

DirectoryLock lock_of(const Folder& directory) {
  try {
    return DirectoryLock(directory);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
    throw UnsuitableTarget(
        fmt::format("{} went while it was being locked, by another clean", directory.path.string()));
  }
}

}  // namespace

CleaningScope cleaning_scope(const fs::path& folder) {
  std::error_code error;
  const fs::path path = fs::canonical(folder, error);
  if (error) throw UnsuitableTarget(fmt::format("{}: {}", folder.string(), error.message()));
  if (!fs::is_directory(path)) {
    throw UnsuitableTarget(fmt::format("{} is not a folder; name a target or a folder below its {}",
                                       folder.string(), kMarkedDirectory));
  }
  const fs::path parent = path.parent_path();
  if (is_marked_directory(path)) return {parent, "", ""};
  if (is_marked_directory(parent)) return {parent.parent_path(), path.filename().string(), ""};
  if (is_marked_directory(parent.parent_path())) {
    if (!is_checkpoint_folder_name(path.filename().string())) refuse_foreign(path);
    return {parent.parent_path().parent_path(), parent.filename().string(), path.filename().string()};
  }
  if (is_ours(open_folder(open_target(path), kMarkedDirectory))) return {path, "", ""};
  throw UnsuitableTarget(fmt::format(
      "{} is no target of this program: neither it nor {} in it carries the marker {}; nothing was "
      "touched",
      folder.string(), kMarkedDirectory, kMarker));
}

Cleaning survey_cleaning(const CleaningScope& scope) {
  const Opened opened = open_scope(scope);
  { const ReadLock no_run_is_at_work(opened.directory); }
  return survey_opened(scope, opened.directory);
}

Cleaning clean(const CleaningScope& scope) {
  const Opened opened = open_scope(scope);
  const DirectoryLock lock = lock_of(opened.directory);
  Cleaning cleaning = survey_opened(scope, opened.directory);
  for (CleanedRun& run : cleaning.runs) {
    if (scope.checkpoint.empty()) {
      (void)remove_surveyed_run(opened.directory, run.name);
    } else {
      run.whole = remove_one_checkpoint(opened.directory, scope);
    }
  }
  if (scope.run.empty() && !remove_marked_directory(opened)) cleaning.marked_directory.clear();
  return cleaning;
}

}  // namespace ckptsim::storage
