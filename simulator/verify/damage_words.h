#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simulator/run/manifest_reader.h"
#include "simulator/verify/difference_finder.h"
#include "simulator/verify/file_reader.h"
#include "simulator/verify/finding.h"
#include "storage/torch/archive_layout.h"

namespace ckptsim::simulator {

struct DamageReport {
  std::vector<Finding> findings;
  std::uint64_t more_ranges = 0;
  std::uint64_t wrong_bytes = 0;
};

// Reads the file again from its beginning.
using ReadAgain = std::function<void(const std::function<void(const ReadStretch&)>&)>;

// What differs in a file, in words: each of the first ranges with its record and tensor, and of a wrong
// payload whether its CRC is that of the manifest (then it was written so) or not (then it changed since).
// Where all bytes are right, whether the manifest's CRCs are. `made` is of the file as it should be, and null
// where that is not known, since the file that was found is shorter: then nothing is said of CRCs.
// `read_again` is called only where bytes of payloads differ.
[[nodiscard]] DamageReport describe_damage(const ManifestFile& file,
                                           const storage::torch::ArchiveLayout& layout,
                                           const storage::torch::FileDigest* made,
                                           const DifferenceFinder& differences, const ReadAgain& read_again);

}  // namespace ckptsim::simulator
