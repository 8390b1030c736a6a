#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/run/interruption.h"
#include "simulator/run/manifest_reader.h"
#include "simulator/verify/finding.h"
#include "storage/target/folder_calls.h"
#include "storage/target/target.h"

namespace ckptsim::simulator {

// What verifying one file found.
struct FileOutcome {
  std::vector<Finding> findings;       // the first ones in detail
  std::uint64_t more_ranges = 0;       // that are wrong and not among them
  std::uint64_t wrong_bytes = 0;       // of all ranges
  std::uint64_t unreadable_bytes = 0;  // for the system's errors
  // In the page cache after they were to be dropped from it; empty where the kernel does not tell.
  std::optional<std::uint64_t> cached_bytes = 0;
};

// Holds the files of one checkpoint against what their manifest makes of them: every byte against the one
// that the seed gives, and the manifest's CRCs against those of the bytes. One thread.
class FileVerifier {
 public:
  // `checkpoint` is the open folder of the files. With `drop_cache` a file's pages leave the page cache
  // before it is read. All references outlive the verifier.
  FileVerifier(storage::Target& target, const storage::Folder& checkpoint, const Manifest& manifest,
               bool drop_cache, std::atomic<std::uint64_t>& read_bytes, const Interruption& interruption);

  // `found_bytes`: the size that the folder's listing gave; a file that is shorter or longer is read as far
  // as both reach. Once the process is asked to end it stops within a block, and its outcome says nothing.
  // Throws std::system_error only where the target itself fails.
  [[nodiscard]] FileOutcome verify(const ManifestFile& file, std::uint64_t found_bytes);

 private:
  storage::Target& target_;
  const storage::Folder& checkpoint_;
  const Manifest& manifest_;
  bool drop_cache_;
  std::atomic<std::uint64_t>& read_bytes_;
  const Interruption& interruption_;
  std::vector<std::byte> expected_;  // a piece of the file as it should be
};

}  // namespace ckptsim::simulator
