#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/target/checkpoint_removal.h"

namespace ckptsim::storage {

// Takes away what runs made on a target, and nothing else: every name that goes was recognised first (see
// checkpoint_removal.h and directory_survey.h), and where there is anything else nothing goes. All throw
// UnsuitableTarget for what is not ours, and std::system_error with the path.

// What is to go.
struct CleaningScope {
  std::filesystem::path target;
  std::string run;         // empty: all runs, and TARGET/ckptsim itself
  std::string checkpoint;  // empty: the whole run
};

// The scope that a folder means: a target, its ckptsim/ folder, a run's folder below that, or a checkpoint's.
// UnsuitableTarget where it is none of them, because nothing there carries the marker.
[[nodiscard]] CleaningScope cleaning_scope(const std::filesystem::path& folder);

struct CleanedRun {
  std::string name;
  Contents contents;
  bool whole = true;  // its folder goes as well; false where other checkpoints of it stay
};

struct Cleaning {
  std::vector<CleanedRun> runs;            // by name; with their contents before anything went
  std::filesystem::path marked_directory;  // where it goes as well, otherwise empty
};

// What clean() would remove, without touching anything. UnsuitableTarget where a run holds the target's lock,
// which is looked at before and not kept. Both: UnsuitableTarget that names the runs there are where a run or a
// checkpoint of the scope is not there.
[[nodiscard]] Cleaning survey_cleaning(const CleaningScope& scope);

// Removes it under the target's lock. UnsuitableTarget, before anything is removed, when another process
// holds the lock. Of every checkpoint first its manifests go, then a directory fsync, then its files, then
// its folder; of the marked folder at last strays, marker, lock, and itself. After a kill at any moment what
// is left is recognised again, and no checkpoint with its manifests lacks a file; but for the moment between
// the last two, which leaves an empty folder: that carries no sign of who made it, is UnsuitableTarget to
// clean, and is adopted by a run.
Cleaning clean(const CleaningScope& scope);

}  // namespace ckptsim::storage
