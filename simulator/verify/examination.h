#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/run/backend_choice.h"
#include "simulator/run/manifest_reader.h"
#include "simulator/verify/checkpoint_search.h"
#include "simulator/verify/finding.h"

namespace ckptsim::simulator {

// What process 0 finds out about a checkpoint before its files are read, and tells the others.
struct Examination {
  FoundCheckpoint found;
  std::vector<std::string> manifest_texts;  // of those that can be taken
  std::vector<Manifest> manifests;
  // By file, in order of the manifests: what there is to read of it.
  std::vector<std::optional<std::uint64_t>> found_bytes;
  std::vector<Finding> findings;
  storage::Backend backend = storage::Backend::kIoUring;
  std::string backend_reason;
  bool page_cache_seen = true;  // of direct reads; see DirectReadFacts
  std::uint64_t io_alignment = 1;
};

// Lists the folder once and reads its manifests. What is wrong becomes a finding. `choice` is the backend
// where the file system can read past the page cache; where it cannot, `auto` reads through it and any other
// is UnsuitableTarget.
[[nodiscard]] Examination examine(const FoundCheckpoint& checkpoint, const BackendChoice& choice,
                                  const std::string& asked_backend);

// As a message to the other processes, without the findings, and back.
[[nodiscard]] std::string examination_to_text(const Examination& examination);
[[nodiscard]] Examination examination_from_text(const std::string& text);

}  // namespace ckptsim::simulator
