#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/target/folder_calls.h"

namespace ckptsim::storage {

// The names that TARGET/ckptsim/ may hold beside the runs' folders and the lock.
inline constexpr const char* kMarkedDirectory = "ckptsim";
inline constexpr const char* kMarker = ".ckptsim-directory";
inline constexpr const char* kMarkerTemporary = ".ckptsim-directory.tmp";
inline constexpr const char* kMarkerText = "{\"schema\":\"ckptsim.target/1\"}\n";

// The target's folder. It may be a link: it is the user's word, and nothing in it but ckptsim/ is touched.
// UnsuitableTarget where it is missing or no folder.
[[nodiscard]] Folder open_target(const std::filesystem::path& target);

// Whether a run may have a folder of that name: no slash, no leading dot.
[[nodiscard]] bool is_run_name(std::string_view name);

enum class Marking {
  kMarked,
  kUnfinished,  // no marker, and nothing but what a run or `clean` leaves that is killed beside it: adopted
  kEmpty,       // nothing at all: adopted by a run, but nobody can tell who made it
  kForeign,     // no marker, and something else
};
// What a kill leaves is a lock file, empty or with the line of who took it, and a beginning of the marker
// under its temporary name. UnsuitableTarget where the marker is a link, no file, or not the one that this
// version writes.
[[nodiscard]] Marking marking_of(const Folder& directory);

// Throws UnsuitableTarget that names what makes an unmarked folder foreign.
[[noreturn]] void refuse_unmarked(const Folder& directory);

struct DirectoryContents {
  std::vector<std::string> runs;
  std::vector<std::string> strays;  // files that a kill left: probes, the marker's temporary
};
// Names and kinds of all that a marked folder holds, down to the files of every checkpoint of every run, as
// the folders themselves say them: one call for each folder. UnsuitableTarget names what this program did not
// make.
[[nodiscard]] DirectoryContents survey_directory(const Folder& directory);

}  // namespace ckptsim::storage
