#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulator/run/manifest_reader.h"
#include "simulator/verify/checkpoint_search.h"
#include "simulator/verify/finding.h"
#include "storage/target/folder_calls.h"

namespace ckptsim::simulator {

// The text of a manifest in its checkpoint's folder. FormatError where it is no regular file,
// std::system_error with the path where it cannot be read.
[[nodiscard]] std::string read_manifest_text(const storage::Folder& checkpoint, const std::string& manifest);

// What a manifest says that its place contradicts: another run, another checkpoint.
[[nodiscard]] std::optional<Finding> misplaced(const FoundCheckpoint& checkpoint, const std::string& manifest,
                                               const Manifest& contents);

// A manifest's files against what the folder holds.
struct ListingCheck {
  std::vector<Finding> findings;                          // in order of the manifest, then unlisted files
  std::vector<std::optional<std::uint64_t>> found_bytes;  // by file; empty: there is nothing to read
};
[[nodiscard]] ListingCheck check_listing(const Manifest& manifest,
                                         const std::map<std::string, struct stat>& listing);

// Files in the folder that no manifest lists. `manifests` are the names of the manifests themselves.
[[nodiscard]] std::vector<Finding> unlisted(const std::vector<Manifest>& contents,
                                            const std::vector<std::string>& manifests,
                                            const std::map<std::string, struct stat>& listing);

}  // namespace ckptsim::simulator
