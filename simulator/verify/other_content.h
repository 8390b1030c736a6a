#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulator/run/manifest_reader.h"
#include "simulator/verify/damage_words.h"
#include "storage/torch/archive_layout.h"

namespace ckptsim::simulator {

// What a file that is wrong nearly everywhere holds, where that is something this program wrote in another
// place: "holds the content of FILE" of the same checkpoint, by the CRC that the manifest has of that, or
// "holds what pass 1, checkpoint 2 wrote in it", by the bytes of its tensors. Empty where it is neither.
// `layout` is of the file as it should be; `read_whole` hands over all bytes that are there, `found_bytes`.
[[nodiscard]] std::optional<std::string> find_other_content(const ManifestFile& file,
                                                            const Manifest& manifest,
                                                            const storage::torch::ArchiveLayout& layout,
                                                            std::uint64_t found_bytes,
                                                            const ReadAgain& read_whole);

}  // namespace ckptsim::simulator
