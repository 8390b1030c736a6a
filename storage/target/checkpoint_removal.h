#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/target/folder_calls.h"

namespace ckptsim::storage {

// What this program makes below a run's folder, and nothing else, is recognised by name and kind: folders
// checkpoint_NN (at least two digits); in them regular files *.pt, manifest*.json and manifest temporaries,
// and sub-folders that hold *.pt files only.

[[nodiscard]] std::string checkpoint_folder_name(int checkpoint);
[[nodiscard]] bool is_checkpoint_folder_name(std::string_view name);
[[nodiscard]] bool is_manifest(std::string_view name);  // not its temporary
[[nodiscard]] std::string manifest_temporary(std::string_view manifest);

// Bytes allocated to what the folder holds. UnsuitableTarget, naming it, where it holds what is not
// recognised.
[[nodiscard]] std::uint64_t survey_run(const Folder& run);
[[nodiscard]] std::uint64_t survey_checkpoint(const Folder& checkpoint);

// Removes manifests and their temporaries, and fsyncs the folder if there were any. Returns their number.
std::uint64_t remove_manifests_of(const Folder& checkpoint);

// The folder `name` below the run's, and all in it: its manifests, an fsync, its files, itself. What is not
// recognised is never unlinked: it makes this fail with ENOTEMPTY, so survey first. Returns the number of
// files.
std::uint64_t remove_surveyed_checkpoint(const Folder& run, const std::string& name);

}  // namespace ckptsim::storage
