#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/config/run_config.h"
#include "storage/torch/archive_stream.h"

namespace ckptsim::simulator {

// What a manifest says of a checkpoint as a whole.
struct ManifestHead {
  std::int64_t pass = 0;
  bool warmup = false;
  std::int64_t checkpoint = 0;
  std::uint64_t content_pass = 0;  // the pass number in the content's address
};

// manifest.json (docs/file-formats.md), schema ckptsim.manifest/1, in three steps, because its parts are made
// on different processes: the first members of the object, as JSON text without its braces;
[[nodiscard]] std::string manifest_head(const RunConfig& config, const ManifestHead& head);
// one rank's elements of "files", separated by commas; empty for a rank without files;
[[nodiscard]] std::string manifest_files(std::int64_t rank, const std::vector<std::string>& names,
                                         const std::vector<storage::torch::FileDigest>& digests);
// and the whole text, which ends with the CRC-32 of every byte before that CRC's own digits.
[[nodiscard]] std::string seal_manifest(const std::string& head, const std::vector<std::string>& files);

}  // namespace ckptsim::simulator
