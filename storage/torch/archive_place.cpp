#include "storage/torch/archive_place.h"

#include <algorithm>
#include <iterator>

namespace ckptsim::storage::torch {
namespace {

// A header aligned to one byte has no padding.
std::uint64_t padding_begin(const RecordLayout& record) {
  return record.entry.header_offset + local_header_bytes(record.entry, 1);
}

ArchivePlace place_in_record(const RecordLayout& record, std::size_t index, std::uint64_t next,
                             std::uint64_t offset) {
  const std::uint64_t padding = padding_begin(record);
  const std::uint64_t payload_end = record.payload_offset + record.entry.bytes;
  if (offset < padding) return {ArchivePart::kHeader, index, {}, record.entry.header_offset, padding};
  if (offset < record.payload_offset)
    return {ArchivePart::kPadding, index, {}, padding, record.payload_offset};
  if (offset >= payload_end) return {ArchivePart::kDescriptor, index, {}, payload_end, next};
  ArchivePlace place{ArchivePart::kPayload, index, {}, record.payload_offset, payload_end};
  if (const auto* tensor = std::get_if<TensorPayload>(&record.payload)) place.tensor = tensor->tensor;
  return place;
}

ArchivePlace place_in_directory(const ArchiveLayout& layout, std::uint64_t offset) {
  std::uint64_t begin = layout.directory.offset;
  for (std::size_t i = 0; i < layout.records.size(); ++i) {
    const std::uint64_t end = begin + directory_entry_bytes(layout.records[i].entry);
    if (offset < end) return {ArchivePart::kDirectory, i, {}, begin, end};
    begin = end;
  }
  return {ArchivePart::kEnd, {}, {}, begin, layout.file_bytes};
}

}  // namespace

std::string_view name(ArchivePart part) {
  switch (part) {
    case ArchivePart::kHeader:
      return "header";
    case ArchivePart::kPadding:
      return "padding";
    case ArchivePart::kPayload:
      return "payload";
    case ArchivePart::kDescriptor:
      return "descriptor";
    case ArchivePart::kDirectory:
      return "directory";
    case ArchivePart::kEnd:
      return "end";
  }
  return "";
}

ArchivePlace place_in_archive(const ArchiveLayout& layout, std::uint64_t offset) {
  if (offset >= layout.directory.offset) return place_in_directory(layout, offset);
  const auto next = std::upper_bound(
      layout.records.begin(), layout.records.end(), offset,
      [](std::uint64_t value, const RecordLayout& record) { return value < record.entry.header_offset; });
  const auto index = static_cast<std::size_t>(std::distance(layout.records.begin(), next)) - 1;
  const std::uint64_t end =
      next == layout.records.end() ? layout.directory.offset : next->entry.header_offset;
  return place_in_record(layout.records[index], index, end, offset);
}

}  // namespace ckptsim::storage::torch
