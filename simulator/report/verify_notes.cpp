#include "simulator/report/verify_notes.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>

namespace ckptsim::simulator {
namespace {

// The checkpoints that were read through the page cache for one reason.
struct Cached {
  std::uint64_t file_bytes = 0;
  std::optional<std::uint64_t> cached_bytes = 0;
};

std::string note_of(const std::string& reason, const Cached& read) {
  if (!read.cached_bytes) {
    return fmt::format(
        "Read through the page cache ({}). Each file was to be dropped from it before; whether it was is not "
        "known, since the kernel tells that only to the owner of a file and to who may write it.",
        reason);
  }
  if (*read.cached_bytes == 0)
    return fmt::format("Read through the page cache ({}), out of which each file was dropped before.", reason);
  const double share = read.file_bytes > 0
                           ? static_cast<double>(*read.cached_bytes) / static_cast<double>(read.file_bytes)
                           : 1;
  return fmt::format(
      "Read through the page cache ({}), which would not drop the files: {} of their {} bytes ({:.1f} %) were "
      "in it before they were read. Of those, memory was verified, and no drive.",
      reason, *read.cached_bytes, read.file_bytes, 100 * share);
}

}  // namespace

std::vector<std::string> reading_notes(const VerifyResult& result) {
  std::map<std::string, Cached> by_reason;
  bool unseen = false;
  for (const VerifiedCheckpoint& checkpoint : result.checkpoints) {
    if (checkpoint.backend != "buffered") {
      unseen = unseen || !checkpoint.page_cache_seen;
      continue;
    }
    Cached& read = by_reason[checkpoint.backend_reason];
    read.file_bytes += checkpoint.file_bytes;
    read.cached_bytes = sum_of_known(read.cached_bytes, checkpoint.cached_bytes);
  }
  std::vector<std::string> notes;
  notes.reserve(by_reason.size() + 1);
  for (const auto& [reason, read] : by_reason)
    notes.push_back(note_of(reason, read));
  if (unseen) {
    notes.emplace_back(
        "Read past the page cache (O_DIRECT), as the file system says. It could not be looked into to prove it: "
        "the kernel shows what it holds of a file only to the owner and to who may write it.");
  }
  return notes;
}

}  // namespace ckptsim::simulator
