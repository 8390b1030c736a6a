#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "storage/torch/archive_layout.h"

namespace ckptsim::storage::torch {

enum class ArchivePart { kHeader, kPadding, kPayload, kDescriptor, kDirectory, kEnd };
[[nodiscard]] std::string_view name(ArchivePart part);  // "header", "padding", ...

// A stretch of an archive's bytes that have one meaning.
struct ArchivePlace {
  ArchivePart part = ArchivePart::kEnd;
  std::optional<std::size_t> record;    // whose it is; an index of layout.records; none at the archive's end
  std::optional<std::uint64_t> tensor;  // in a tensor's payload, its number in order of first use
  std::uint64_t begin = 0;              // the stretch is [begin, end) in the file
  std::uint64_t end = 0;
};

// Where byte `offset` of the archive is. The last stretch ends where the file ought to; what is beyond is
// kEnd as well.
[[nodiscard]] ArchivePlace place_in_archive(const ArchiveLayout& layout, std::uint64_t offset);

}  // namespace ckptsim::storage::torch
