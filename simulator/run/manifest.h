#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/config/run_config.h"
#include "storage/torch/archive_stream.h"
#include "storage/torch/file_spec.h"

namespace ckptsim::simulator {

inline constexpr std::string_view kManifestSchema = "ckptsim.manifest/2";

// What a manifest says of a checkpoint as a whole.
struct ManifestHead {
  std::int64_t pass = 0;
  bool warmup = false;
  std::int64_t checkpoint = 0;
  std::uint64_t content_pass = 0;  // the pass number in the content's address
};

// Which of a checkpoint's manifests one is, from 1, and how many there are: one for each target, or host.
struct ManifestPart {
  std::uint64_t part = 1;
  std::uint64_t parts = 1;
};

// manifest.json (docs/file-formats.md) in three steps, because its parts are made on different processes:
// the first members of the object, as JSON text without its braces;
[[nodiscard]] std::string manifest_head(const RunConfig& config, const ManifestHead& head);

// one rank's elements of "files", of which little changes from checkpoint to checkpoint: the rest is made
// once;
class ManifestFiles {
 public:
  ManifestFiles(std::int64_t rank, const std::vector<storage::torch::FileSpec>& files);

  // The elements, separated by commas; empty for a rank without files. `files` may differ from the
  // constructor's in the entries behind the tensors with which each of them begins.
  [[nodiscard]] std::string text(const std::vector<storage::torch::FileSpec>& files,
                                 const std::vector<storage::torch::FileDigest>& digests);

 private:
  struct Element {
    std::string beginning;    // up to the entries that may change
    std::size_t entries = 0;  // that it holds
    std::string end;          // what follows those entries, when the file last was of this shape
    storage::torch::FileDigest shape;
    std::vector<std::size_t> crc_places;  // in `end`: of the file's CRC and of each record's
  };
  static void make_end(Element& element, const storage::torch::FileDigest& digest);
  static void put_crcs(Element& element, const storage::torch::FileDigest& digest);
  std::vector<Element> elements_;
  std::size_t last_bytes_ = 0;  // of text()
};

// and the whole text, which ends with the CRC-32 of every byte before that CRC's own digits.
[[nodiscard]] std::string seal_manifest(const std::string& head, const ManifestPart& part,
                                        const std::vector<std::string>& files);

}  // namespace ckptsim::simulator
