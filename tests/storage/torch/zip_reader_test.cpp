// Directories that lie. What torch and this program write, archive_reader_test.cpp reads.
#include "storage/torch/zip_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "archive_helpers.h"
#include "cpu_time.h"
#include "storage/errors.h"
#include "storage/torch/input_file.h"
#include "storage/torch/little_endian.h"
#include "storage/torch/zip_format.h"

namespace ckptsim::storage::torch {
namespace {

using testing::HasSubstr;

// An archive whose parts can be changed before they are put together.
struct Archive {
  std::string records;
  std::vector<ZipEntry> entries;

  void add(const std::string& name, const std::string& payload) {
    entries.push_back({name, records.size(), payload.size(), 0});
    records += encode_local_header(entries.back(), 64) + payload;
  }

  [[nodiscard]] std::string directory() const {
    std::string bytes;
    for (const ZipEntry& entry : entries)
      bytes += encode_directory_entry(entry);
    return bytes;
  }

  [[nodiscard]] std::string with(const std::string& directory, std::uint64_t count) const {
    return records + directory + encode_tail({records.size(), directory.size(), count});
  }
  [[nodiscard]] std::string bytes() const { return with(directory(), entries.size()); }
};

Archive two_records() {
  Archive archive;
  archive.add("root/a", "first");
  archive.add("root/b", "second");
  return archive;
}

// The words of the refusal, or the records' names.
std::string outcome(const std::string& bytes) {
  std::string words;
  const double seconds = cpu_seconds_of([&] {
    try {
      for (const ArchiveRecord& record : read_zip(WindowSource("archive.pt", bytes.size(), 0, bytes)).records)
        words += record.name + " ";
    } catch (const FormatError& error) {
      words = error.what();
    }
  });
  EXPECT_LT(seconds, kMostCpuSeconds);
  return words;
}

TEST(ZipReader, ReadsWhatTheOtherTestsChange) {
  EXPECT_EQ(outcome(two_records().bytes()), "a b ");
}

TEST(ZipReader, TheDirectoryMayHaveAnyOrder) {
  Archive archive = two_records();
  std::reverse(archive.entries.begin(), archive.entries.end());
  EXPECT_EQ(outcome(archive.bytes()), "b a ");
}

// A few thousand of these made a small file one of gigabytes to check.
TEST(ZipReader, RecordsThatShareBytesAreRefused) {
  Archive archive = two_records();
  archive.entries[0].bytes = archive.records.size() - archive.entries[0].header_offset - 128;
  EXPECT_THAT(outcome(archive.bytes()), HasSubstr(": b begins within another record"));
  std::reverse(archive.entries.begin(), archive.entries.end());
  EXPECT_THAT(outcome(archive.bytes()), HasSubstr(": b begins within another record"));
}

TEST(ZipReader, OneRecordTwiceIsRefused) {
  Archive archive = two_records();
  archive.entries.push_back(archive.entries.front());
  EXPECT_THAT(outcome(archive.bytes()), HasSubstr("a second record a"));
}

TEST(ZipReader, ACountOfEntriesThatLiesIsRefused) {
  const Archive archive = two_records();
  const std::string directory = archive.directory();
  EXPECT_THAT(outcome(archive.with(directory, 0)), HasSubstr("bytes that belong to no entry"));
  EXPECT_THAT(outcome(archive.with(directory, 1)), HasSubstr("bytes that belong to no entry"));
  EXPECT_THAT(outcome(archive.with(directory, 3)), HasSubstr("more entries than the directory has room for"));
  EXPECT_THAT(outcome(archive.with(directory, ~std::uint64_t{0})), HasSubstr("more entries"));
  EXPECT_THAT(outcome(archive.with("", 0)), HasSubstr("an archive without records"));
}

TEST(ZipReader, OfTwoDirectoriesTheOneThatTheEndNamesCounts) {
  Archive archive = two_records();
  const std::string hidden = archive.directory();
  archive.entries.pop_back();
  Archive longer = archive;
  longer.records += hidden;
  EXPECT_EQ(outcome(longer.bytes()), "a ");
  // Behind a whole archive, with offsets from its own beginning.
  EXPECT_THAT(outcome(archive.bytes() + two_records().bytes()), HasSubstr("where the locator points"));
}

TEST(ZipReader, PlacesAndSizesOutsideTheFileAreRefused) {
  for (const std::uint64_t far :
       {std::uint64_t{1} << 20U, std::uint64_t{1} << 33U, std::uint64_t{1} << 63U, ~std::uint64_t{0}}) {
    Archive archive = two_records();
    archive.entries[1].bytes = far;
    EXPECT_THAT(outcome(archive.bytes()), HasSubstr("reaches into the directory")) << far;
    archive = two_records();
    archive.entries[1].header_offset = far;
    EXPECT_THAT(outcome(archive.bytes()), HasSubstr("no room for the header")) << far;
    archive = two_records();
    const std::string directory = archive.directory();
    const std::string whole = archive.records + directory;
    EXPECT_THAT(outcome(whole + encode_tail({far, directory.size(), 2})), HasSubstr("locator points")) << far;
    EXPECT_THAT(outcome(whole + encode_tail({archive.records.size(), far, 2})), HasSubstr("locator points"))
        << far;
  }
}

TEST(ZipReader, TheFirstZip64FieldCountsAndMustHoldWhatIsMissing) {
  const auto field = [](std::uint64_t value, std::size_t times) {
    std::string extra;
    append_little_endian(extra, kZip64ExtraId);
    append_little_endian(extra, static_cast<std::uint16_t>(times * sizeof(value)));
    for (std::size_t i = 0; i < times; ++i)
      append_little_endian(extra, value);
    return extra;
  };
  const Archive archive = two_records();
  const auto outcome_with = [&](const std::string& extra) {
    std::string entry = encode_directory_entry({"root/b", archive.entries[1].header_offset, kSentinel32, 0});
    entry.resize(kDirectoryEntryBytes + 6);
    entry.replace(30, 2, {static_cast<char>(extra.size()), '\0'});
    entry.replace(20, 8, std::string(8, '\xff'));
    return outcome(archive.with(encode_directory_entry(archive.entries[0]) + entry + extra, 2));
  };
  EXPECT_EQ(outcome_with(field(6, 2)), "a b ");
  EXPECT_EQ(outcome_with(field(6, 2) + field(7, 2)), "a b ");
  EXPECT_THAT(outcome_with(field(7, 2) + field(6, 2)), HasSubstr("reaches into the directory"));
  EXPECT_THAT(outcome_with(field(6, 1)), HasSubstr("a zip64 field that is cut short"));
  EXPECT_THAT(outcome_with(field(6, 2).substr(0, 12)), HasSubstr("an extra field that is cut short"));
  EXPECT_THAT(outcome_with(""), HasSubstr("reaches into the directory"));
}

TEST(ZipReader, ADirectoryTooLargeForAnyArchiveIsRefusedBeforeItIsRead) {
  const TemporaryFolder folder;
  const auto path = folder.file("sparse.pt");
  constexpr std::uint64_t hole = std::uint64_t{1} << 40U;
  write_file(path, "");
  std::filesystem::resize_file(path, hole);
  std::ofstream(path, std::ios::binary | std::ios::app) << encode_tail({0, hole, 2});
  EXPECT_THROW((void)read_zip(InputFile(path)), FormatError);
}

TEST(ZipReader, TensOfThousandsOfRecordsAreRead) {
  Archive archive;
  for (int i = 0; i < 40'000; ++i)
    archive.add("root/data/" + std::to_string(i), "");
  const std::string names = outcome(archive.bytes());
  EXPECT_EQ(std::count(names.begin(), names.end(), ' '), 40'000);
}

TEST(ZipReader, WordsOfARefusalAreShortAndPrintable) {
  const std::string name = "root/\x1b[2J" + std::string(60'000, 'x');
  Archive archive = two_records();
  archive.add(name, "");
  archive.entries.push_back(archive.entries.back());
  const std::string words = outcome(archive.bytes());
  EXPECT_THAT(words, HasSubstr("a second record \\x1b[2Jxxx"));
  EXPECT_LT(words.size(), 600U);
}

}  // namespace
}  // namespace ckptsim::storage::torch
