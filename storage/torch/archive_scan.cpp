#include "storage/torch/archive_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/torch/crc32.h"

namespace ckptsim::storage::torch {

ArchiveScan::ArchiveScan(std::string file, ZipContents contents, std::uint64_t directory_offset)
    : file_(std::move(file)), contents_(std::move(contents)), directory_offset_(directory_offset) {
  std::sort(contents_.records.begin(), contents_.records.end(),
            [](const ArchiveRecord& a, const ArchiveRecord& b) { return a.header_offset < b.header_offset; });
  check_overlaps();
  begin(Part::kGap, record().header_offset);
}

// As far as it can be told before the local headers are known.
void ArchiveScan::check_overlaps() const {
  for (std::size_t i = 0; i < contents_.records.size(); ++i) {
    const ArchiveRecord& one = contents_.records[i];
    const bool last = i + 1 == contents_.records.size();
    const std::uint64_t end = last ? directory_offset_ : contents_.records[i + 1].header_offset;
    const std::uint64_t header_bytes = kLocalHeaderBytes + contents_.root.size() + 1 + one.name.size();
    if (end < one.header_offset || end - one.header_offset < header_bytes ||
        end - one.header_offset - header_bytes < one.bytes) {
      fail_at(file_, one.header_offset,
              fmt::format("{}/{} reaches into {}", contents_.root, one.name,
                          last ? "the directory" : "the next record"));
    }
  }
}

void ArchiveScan::consume(std::span<const std::byte> bytes) {
  while (!bytes.empty() && !complete()) {
    const auto part = bytes.first(std::min<std::uint64_t>(bytes.size(), part_end_ - position_));
    take(part);
    position_ += part.size();
    bytes = bytes.subspan(part.size());
    while (!complete() && position_ == part_end_)
      end_part();
  }
}

void ArchiveScan::take(std::span<const std::byte> bytes) {
  if (part_ == Part::kHeader) header_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (part_ == Part::kPayload) crc_ = crc32(crc_, bytes);
}

void ArchiveScan::begin(Part part, std::uint64_t end) {
  part_ = part;
  part_end_ = end;
}

void ArchiveScan::end_part() {
  switch (part_) {
    case Part::kGap:
      header_.clear();
      begin(Part::kHeader, position_ + kLocalHeaderBytes + name().size());
      return;
    case Part::kHeader:
      end_header();
      return;
    case Part::kExtra:
      crc_ = 0;
      begin(Part::kPayload, position_ + record().bytes);
      return;
    case Part::kPayload:
      end_payload();
      return;
  }
}

void ArchiveScan::end_header() {
  const std::optional<std::uint64_t> extra = extra_bytes_of(header_, name());
  if (!extra.has_value()) {
    fail_at(file_, record().header_offset, fmt::format("not the header of {}", name()));
  }
  const bool last = record_ + 1 == contents_.records.size();
  const std::uint64_t end = last ? directory_offset_ : contents_.records[record_ + 1].header_offset;
  if (*extra > end - position_ || record().bytes > end - position_ - *extra) {
    fail_at(file_, record().header_offset,
            fmt::format("{} reaches into {}", name(), last ? "the directory" : "the next record"));
  }
  begin(Part::kExtra, position_ + *extra);
}

void ArchiveScan::end_payload() {
  if (crc_ != record().crc32) {
    fail_at(
        file_, position_ - record().bytes,
        fmt::format("the {} bytes of {} have the CRC-32 {:08x}, the archive's directory says {:08x}: they "
                    "are not what was written",
                    record().bytes, name(), crc_, record().crc32));
  }
  ++record_;
  if (!complete()) begin(Part::kGap, record().header_offset);
}

}  // namespace ckptsim::storage::torch
