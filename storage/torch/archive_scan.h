#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "storage/torch/zip_reader.h"

namespace ckptsim::storage::torch {

// Checks an archive whose bytes come by once, in order, from the file's first to the directory's: that every
// local header belongs to its directory entry, and that every payload has the CRC-32 that the directory
// says. Holds one header at a time and no payload.
class ArchiveScan {
 public:
  // `contents` as read_directory() gives it. Throws FormatError where records overlap or reach into the
  // directory.
  ArchiveScan(std::string file, ZipContents contents, std::uint64_t directory_offset);

  // The next bytes of the file; those from the directory on are passed over. Throws FormatError with file,
  // offset and record.
  void consume(std::span<const std::byte> bytes);

  // Every payload has come by and was right.
  [[nodiscard]] bool complete() const { return record_ == contents_.records.size(); }

 private:
  enum class Part { kGap, kHeader, kExtra, kPayload };

  [[nodiscard]] const ArchiveRecord& record() const { return contents_.records[record_]; }
  [[nodiscard]] std::string name() const { return contents_.root + "/" + record().name; }
  void check_overlaps() const;
  void begin(Part part, std::uint64_t end);
  void take(std::span<const std::byte> bytes);
  void end_part();
  void end_header();
  void end_payload();

  std::string file_;
  ZipContents contents_;  // by offset
  std::uint64_t directory_offset_;
  std::size_t record_ = 0;
  Part part_ = Part::kGap;
  std::uint64_t position_ = 0;
  std::uint64_t part_end_ = 0;
  std::string header_;
  std::uint32_t crc_ = 0;
};

}  // namespace ckptsim::storage::torch
