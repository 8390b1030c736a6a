#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "storage/target/folder_calls.h"

namespace ckptsim::storage {

// What this program makes below a run's folder, and nothing else, is recognised by name and kind: folders
// checkpoint_NN (at least two digits); in them regular files: data files (data_file_name.h), manifest.json,
// manifest-HOST.json and their temporaries; no folders. Names on the drive alone decide, never what a file
// says.

[[nodiscard]] std::string checkpoint_folder_name(int checkpoint);
[[nodiscard]] bool is_checkpoint_folder_name(std::string_view name);
[[nodiscard]] bool is_manifest(std::string_view name);  // not its temporary
[[nodiscard]] std::string manifest_temporary(std::string_view manifest);

// What a folder of a run or a checkpoint holds. All but `checkpoints`, `files` and `entries` are 0 where only
// kinds were asked for.
struct Contents {
  std::uint64_t checkpoints = 0;
  std::uint64_t files = 0;
  std::uint64_t entries = 0;          // files and folders: what takes an inode each
  std::uint64_t file_bytes = 0;       // the files' sizes
  std::uint64_t allocated_bytes = 0;  // what removing all of it frees: a file with another name stays

  Contents& operator+=(const Contents& other);
};

// UnsuitableTarget, naming it, where the folder holds what is not recognised, or where something is mounted.
[[nodiscard]] Contents survey_run(const Folder& run, Facts facts = Facts::kAll);
[[nodiscard]] Contents survey_checkpoint(const Folder& checkpoint, Facts facts = Facts::kAll);

// The same survey, for a checkpoint whose files are about to be cut or written over: a file that has another
// name elsewhere would change there as well, and is UnsuitableTarget.
void check_rewritable(const Folder& checkpoint);

// Called before each data file goes; what it throws leaves the rest where it is. Empty: nothing is called.
// The manifests are gone by then, so that what is left vouches for nothing.
using BeforeFile = std::function<void()>;

// Removes manifests and their temporaries, and fsyncs the folder if there were any. Returns their number.
std::uint64_t remove_manifests_of(const Folder& checkpoint);

// The folder `name` below the run's, and all in it: its manifests, an fsync, its files, itself. What is not
// recognised is never unlinked: it makes this fail with ENOTEMPTY, so survey first. Returns the number of
// files.
std::uint64_t remove_surveyed_checkpoint(const Folder& run, const std::string& name,
                                         const BeforeFile& before_file = {});

// The folder `name` below the marked one: its checkpoints as above, itself, an fsync. Returns the number of
// files.
std::uint64_t remove_surveyed_run(const Folder& directory, const std::string& name,
                                  const BeforeFile& before_file = {});

// UnsuitableTarget, in the words that all surveys have for what they do not recognise.
[[noreturn]] void refuse_foreign(const std::filesystem::path& path);

}  // namespace ckptsim::storage
