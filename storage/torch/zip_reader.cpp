#include "storage/torch/zip_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "storage/text/printable.h"
#include "storage/torch/little_endian.h"
#include "storage/torch/zip_format.h"

namespace ckptsim::storage::torch {
namespace {

// A longer directory is refused before it costs memory.
constexpr std::uint64_t kMostDirectoryBytes = std::uint64_t{256} << 20U;

// The zip64 end record, which the locator in front of the classic one points at.
ZipDirectory read_zip64_end(const ByteSource& file, std::uint64_t end_offset, std::string_view locator) {
  const auto offset = load_little_endian<std::uint64_t>(locator, 8);
  if (offset > end_offset || end_offset - offset < kZip64EndBytes + kZip64LocatorBytes) {
    file.fail(end_offset, "the zip64 locator points behind itself");
  }
  const std::string record = file.read_string(offset, kZip64EndBytes);
  if (load_little_endian<std::uint32_t>(record) != kZip64EndSignature) {
    file.fail(offset, "no zip64 end record where the locator points");
  }
  if (load_little_endian<std::uint64_t>(record, 16) != 0) {
    file.fail(offset, "an archive in several parts");
  }
  const ZipDirectory directory = {load_little_endian<std::uint64_t>(record, 48),
                                  load_little_endian<std::uint64_t>(record, 40),
                                  load_little_endian<std::uint64_t>(record, 32)};
  if (directory.offset > offset || directory.bytes > offset - directory.offset) {
    file.fail(offset, "the directory does not lie before its end record");
  }
  return directory;
}

}  // namespace

ZipDirectory find_directory(const ByteSource& file) {
  if (file.size() < kEndBytes) {
    file.fail(0, "too short for a zip archive");
  }
  const std::uint64_t end_offset = file.size() - kEndBytes;
  const std::string end = file.read_string(end_offset, kEndBytes);
  if (load_little_endian<std::uint32_t>(end) != kEndSignature ||
      load_little_endian<std::uint16_t>(end, 20) != 0) {
    file.fail(end_offset, "no end record of a zip archive at the end of the file");
  }
  if (end_offset >= kZip64LocatorBytes) {
    const std::string locator = file.read_string(end_offset - kZip64LocatorBytes, kZip64LocatorBytes);
    if (load_little_endian<std::uint32_t>(locator) == kZip64LocatorSignature) {
      return read_zip64_end(file, end_offset, locator);
    }
  }
  if (load_little_endian<std::uint32_t>(end, 4) != 0) {
    file.fail(end_offset, "an archive in several parts");
  }
  const ZipDirectory directory = {load_little_endian<std::uint32_t>(end, 16),
                                  load_little_endian<std::uint32_t>(end, 12),
                                  load_little_endian<std::uint16_t>(end, 10)};
  if (directory.offset > end_offset || directory.bytes > end_offset - directory.offset) {
    file.fail(end_offset, "the directory does not lie before its end record");
  }
  return directory;
}

namespace {

std::string directory_bytes(const ByteSource& file, const ZipDirectory& directory) {
  if (directory.bytes > kMostDirectoryBytes) {
    file.fail(directory.offset,
              fmt::format("a directory of {} bytes, more than the {} that millions of records need",
                          directory.bytes, kMostDirectoryBytes));
  }
  return file.read_string(directory.offset, directory.bytes);
}

// Walks the central directory, which is in memory as a whole.
class DirectoryParser {
 public:
  DirectoryParser(const ByteSource& file, const ZipDirectory& directory)
      : file_(file), directory_(directory), bytes_(directory_bytes(file, directory)) {}

  [[nodiscard]] std::vector<ArchiveRecord> parse() {
    if (directory_.entries > directory_.bytes / kDirectoryEntryBytes) {
      file_.fail(directory_.offset, "more entries than the directory has room for");
    }
    std::vector<ArchiveRecord> records;
    records.reserve(directory_.entries);
    for (std::uint64_t i = 0; i < directory_.entries; ++i) {
      records.push_back(parse_entry());
    }
    if (at_ != bytes_.size()) {
      fail("bytes that belong to no entry of the directory");
    }
    return records;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { file_.fail(directory_.offset + at_, problem); }

  ArchiveRecord parse_entry() {
    if (bytes_.size() - at_ < kDirectoryEntryBytes) {
      fail("a directory entry that is cut short");
    }
    const std::string_view entry = std::string_view(bytes_).substr(at_);
    const std::size_t name_bytes = load_little_endian<std::uint16_t>(entry, 28);
    const std::size_t extra_bytes = load_little_endian<std::uint16_t>(entry, 30);
    const std::size_t comment_bytes = load_little_endian<std::uint16_t>(entry, 32);
    const std::size_t entry_bytes = kDirectoryEntryBytes + name_bytes + extra_bytes + comment_bytes;
    if (load_little_endian<std::uint32_t>(entry) != kDirectoryEntrySignature || entry.size() < entry_bytes) {
      fail("not a directory entry");
    }
    if ((load_little_endian<std::uint16_t>(entry, 8) & kFlagEncrypted) != 0) {
      fail("an encrypted record");
    }
    if (load_little_endian<std::uint16_t>(entry, 10) != 0) {
      fail("a compressed record");
    }
    ArchiveRecord record;
    record.name = entry.substr(kDirectoryEntryBytes, name_bytes);
    record.crc32 = load_little_endian<std::uint32_t>(entry, 16);
    set_sizes(record, entry, entry.substr(kDirectoryEntryBytes + name_bytes, extra_bytes));
    at_ += entry_bytes;
    return record;
  }

  void set_sizes(ArchiveRecord& record, std::string_view entry, std::string_view extra) const {
    std::uint64_t stored_bytes = load_little_endian<std::uint32_t>(entry, 20);
    record.bytes = load_little_endian<std::uint32_t>(entry, 24);
    record.header_offset = load_little_endian<std::uint32_t>(entry, 42);
    std::string_view values = zip64_values(extra, record.zip64);
    for (std::uint64_t* field : {&record.bytes, &stored_bytes, &record.header_offset}) {
      if (*field == kSentinel32 && record.zip64) {
        if (values.size() < sizeof(std::uint64_t)) {
          fail("a zip64 field that is cut short");
        }
        *field = load_little_endian<std::uint64_t>(values);
        values.remove_prefix(sizeof(std::uint64_t));
      }
    }
    if (stored_bytes != record.bytes) {
      fail("a stored record of two sizes");
    }
  }

  [[nodiscard]] std::string_view zip64_values(std::string_view extra, bool& found) const {
    while (extra.size() >= 4) {
      const auto id = load_little_endian<std::uint16_t>(extra);
      const std::size_t bytes = load_little_endian<std::uint16_t>(extra, 2);
      extra.remove_prefix(4);
      if (bytes > extra.size()) {
        fail("an extra field that is cut short");
      }
      if (id == kZip64ExtraId) {
        found = true;
        return extra.substr(0, bytes);
      }
      extra.remove_prefix(bytes);
    }
    return {};
  }

  const ByteSource& file_;
  ZipDirectory directory_;
  std::string bytes_;
  std::size_t at_ = 0;
};

std::vector<const ArchiveRecord*> sorted(const std::vector<ArchiveRecord>& records,
                                         bool (*before)(const ArchiveRecord*, const ArchiveRecord*)) {
  std::vector<const ArchiveRecord*> pointers;
  pointers.reserve(records.size());
  for (const ArchiveRecord& record : records) {
    pointers.push_back(&record);
  }
  std::sort(pointers.begin(), pointers.end(), before);
  return pointers;
}

// Sorted rather than hashed: names can be made up to collide.
void check_names(const ByteSource& file, const std::vector<ArchiveRecord>& records) {
  const auto by_name =
      sorted(records, [](const auto* left, const auto* right) { return left->name < right->name; });
  const auto twin =
      std::adjacent_find(by_name.begin(), by_name.end(),
                         [](const auto* left, const auto* right) { return left->name == right->name; });
  if (twin != by_name.end()) {
    file.fail((*twin)->header_offset, fmt::format("a second record {}", printable_beginning((*twin)->name)));
  }
}

// Records that share bytes would make a small file one that takes for ever to read.
void check_apart(const ByteSource& file, const std::vector<ArchiveRecord>& records) {
  const auto by_offset = sorted(records, [](const auto* left, const auto* right) {
    return left->header_offset < right->header_offset;
  });
  std::uint64_t end = 0;
  for (const ArchiveRecord* record : by_offset) {
    if (record->header_offset < end) {
      file.fail(record->header_offset,
                fmt::format("{} begins within another record", printable_beginning(record->name)));
    }
    end = record->payload_offset + record->bytes;
  }
}

}  // namespace

ZipContents read_directory(const ByteSource& file, const ZipDirectory& directory) {
  ZipContents contents;
  contents.records = DirectoryParser(file, directory).parse();
  if (contents.records.empty()) {
    file.fail(directory.offset, "an archive without records");
  }
  const std::string& first = contents.records.front().name;
  contents.root = first.substr(0, first.find('/'));
  const std::string prefix = contents.root + "/";
  for (ArchiveRecord& record : contents.records) {
    if (!record.name.starts_with(prefix)) {
      file.fail(record.header_offset,
                fmt::format("{} is not in the folder {}", printable_beginning(record.name),
                            printable_beginning(contents.root)));
    }
    record.name.erase(0, prefix.size());
  }
  check_names(file, contents.records);
  return contents;
}

std::optional<std::uint64_t> extra_bytes_of(std::string_view header, std::string_view name) {
  if (load_little_endian<std::uint32_t>(header) != kLocalHeaderSignature ||
      load_little_endian<std::uint16_t>(header, 8) != 0 ||
      load_little_endian<std::uint16_t>(header, 26) != name.size() ||
      header.substr(kLocalHeaderBytes) != name) {
    return std::nullopt;
  }
  return load_little_endian<std::uint16_t>(header, 28);
}

void read_local_header(const ByteSource& file, const ZipDirectory& directory, const std::string& root,
                       ArchiveRecord& record) {
  const std::string name = root + "/" + record.name;
  const std::uint64_t at = record.header_offset;
  const std::uint64_t header_bytes = kLocalHeaderBytes + name.size();
  if (at > directory.offset || directory.offset - at < header_bytes) {
    file.fail(at, fmt::format("no room for the header of {}", printable_beginning(name)));
  }
  const std::optional<std::uint64_t> extra = extra_bytes_of(file.read_string(at, header_bytes), name);
  if (!extra.has_value()) {
    file.fail(at, fmt::format("not the header of {}", printable_beginning(name)));
  }
  record.payload_offset = at + header_bytes + *extra;
  if (record.payload_offset > directory.offset || record.bytes > directory.offset - record.payload_offset) {
    file.fail(at, fmt::format("{} reaches into the directory", printable_beginning(name)));
  }
}

ZipContents read_zip(const ByteSource& file) {
  const ZipDirectory directory = find_directory(file);
  ZipContents contents = read_directory(file, directory);
  for (ArchiveRecord& record : contents.records) {
    read_local_header(file, directory, contents.root, record);
  }
  check_apart(file, contents.records);
  return contents;
}

}  // namespace ckptsim::storage::torch
