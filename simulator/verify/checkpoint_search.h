#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/target/directory_lock.h"
#include "storage/target/folder_calls.h"

namespace ckptsim::simulator {

// A checkpoint's folder: `folders` lead to it from `root`, which is a folder that the user named.
struct FoundCheckpoint {
  std::string root;
  std::vector<std::string> folders;
  std::vector<std::string> manifests;  // names of regular files; none: the checkpoint does not exist
  std::string run;                     // the name of the folder above, where that is in a ckptsim/
  std::string folder;                  // its own name

  [[nodiscard]] std::string path() const;
};

// What the folders that were named hold.
struct SearchResult {
  std::vector<FoundCheckpoint> checkpoints;  // in order of the folders, runs and numbers
  std::vector<storage::ReadLock> locks;      // of every ckptsim/ concerned, held while this lives
};

// `folder` is a target, its ckptsim/, a run in it or a checkpoint. Follows no links below it and lists each
// folder once. UnsuitableTarget where it is none of these, where a run holds the lock, or where a link stands
// for a folder, or where `folder` is a target or its ckptsim/ and the marker is not as a run wrote it;
// std::system_error with the path.
void find_checkpoints(const std::string& folder, SearchResult& result);

// The checkpoint's folder, opened without following links below the root. Throws like find_checkpoints().
[[nodiscard]] storage::Folder open_checkpoint(const FoundCheckpoint& checkpoint);

// What lies in it, and in the folders directly below it as "FOLDER/NAME".
[[nodiscard]] std::map<std::string, struct stat> list_checkpoint(const storage::Folder& checkpoint);

}  // namespace ckptsim::simulator
