#include "storage/torch/archive_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "archive_helpers.h"
#include "storage/errors.h"
#include "storage/torch/byte_source.h"

namespace ckptsim::storage::torch {
namespace {

using ::testing::HasSubstr;

struct Archive {
  std::string bytes;
  FileDigest digest;
  ZipDirectory directory;
  ZipContents contents;
};

Archive make_archive(const ArchiveOptions& options = {}) {
  ArchiveStream stream(example_file(), options, kSeed, kPass, kCheckpoint);
  Archive archive;
  archive.bytes = read_all(stream);
  archive.digest = stream.digest();
  const WindowSource whole("a.pt", archive.bytes.size(), 0, archive.bytes);
  archive.directory = find_directory(whole);
  archive.contents = read_directory(whole, archive.directory);
  return archive;
}

// Whether all payloads came by and were right. Throws what the scan throws.
bool scan(const Archive& archive, const std::string& bytes, std::size_t piece_bytes) {
  ArchiveScan scan("a.pt", archive.contents, archive.directory.offset);
  for (std::size_t at = 0; at < bytes.size(); at += piece_bytes) {
    const std::string_view piece = std::string_view(bytes).substr(at, piece_bytes);
    scan.consume(std::as_bytes(std::span(piece)));
  }
  return scan.complete();
}

std::string problem_of(const Archive& archive, const std::string& bytes) {
  try {
    (void)scan(archive, bytes, 4096);
  } catch (const FormatError& error) {
    return error.what();
  }
  return {};
}

const RecordDigest& record(const Archive& archive, const std::string& name) {
  const auto found = std::find_if(archive.digest.records.begin(), archive.digest.records.end(),
                                  [&](const RecordDigest& one) { return one.name == name; });
  if (found == archive.digest.records.end()) throw std::out_of_range(name);
  return *found;
}

TEST(ArchiveScan, AcceptsWhatWasWrittenInPiecesOfAnySize) {
  for (const Dialect dialect : {Dialect::kTorch113, Dialect::kCurrent}) {
    const Archive archive = make_archive({dialect, 4096});
    for (const std::size_t piece_bytes :
         {std::size_t{1}, std::size_t{61}, std::size_t{4096}, archive.bytes.size()})
      EXPECT_TRUE(scan(archive, archive.bytes, piece_bytes)) << piece_bytes;
  }
}

TEST(ArchiveScan, IsNotCompleteBeforeTheLastPayloadHasComeBy) {
  const Archive archive = make_archive();
  const ArchiveRecord& last = *std::max_element(
      archive.contents.records.begin(), archive.contents.records.end(),
      [](const ArchiveRecord& a, const ArchiveRecord& b) { return a.header_offset < b.header_offset; });
  const std::uint64_t end = record(archive, last.name).payload_offset + last.bytes;
  EXPECT_FALSE(scan(archive, archive.bytes.substr(0, end - 1), 4096));
  EXPECT_TRUE(scan(archive, archive.bytes.substr(0, end), 4096));
}

TEST(ArchiveScan, NamesTheRecordOfAFlippedBit) {
  const Archive archive = make_archive();
  for (const RecordDigest& one : archive.digest.records) {
    if (one.bytes == 0) continue;
    for (const std::uint64_t at : {one.payload_offset, one.payload_offset + one.bytes - 1}) {
      std::string damaged = archive.bytes;
      damaged[at] ^= 1;
      const std::string problem = problem_of(archive, damaged);
      EXPECT_THAT(problem, HasSubstr("a.pt: at " + std::to_string(one.payload_offset) + ": "));
      EXPECT_THAT(problem, HasSubstr("mp_rank_00_model_states/" + one.name + " have the CRC-32"));
    }
  }
}

TEST(ArchiveScan, NamesALocalHeaderThatIsAnotherRecords) {
  const Archive archive = make_archive();
  const RecordDigest& one = record(archive, "data/3");
  const std::size_t name_at = archive.bytes.rfind("mp_rank_00_model_states/data/3", one.payload_offset);
  for (const std::size_t at : {name_at, name_at - 30}) {  // the name, the signature
    std::string damaged = archive.bytes;
    damaged[at] ^= 1;
    EXPECT_THAT(problem_of(archive, damaged), HasSubstr("not the header of mp_rank_00_model_states/data/3"));
  }
}

TEST(ArchiveScan, RefusesAHeaderWhosePaddingReachesIntoTheNextRecord) {
  const Archive archive = make_archive();
  const std::size_t name_at =
      archive.bytes.rfind("mp_rank_00_model_states/data/3", record(archive, "data/3").payload_offset);
  std::string damaged = archive.bytes;
  damaged[name_at - 1] = static_cast<char>(0xff);  // the high byte of the extra field's length
  EXPECT_THAT(problem_of(archive, damaged), HasSubstr("data/3 reaches into the next record"));
}

TEST(ArchiveScan, RefusesRecordsThatOverlapBeforeAByteIsRead) {
  Archive archive = make_archive();
  archive.contents.records.front().header_offset = archive.contents.records.back().header_offset;
  EXPECT_THROW(ArchiveScan("a.pt", archive.contents, archive.directory.offset), FormatError);
  archive = make_archive();
  for (ArchiveRecord& one : archive.contents.records)
    one.bytes += archive.bytes.size();
  EXPECT_THROW(ArchiveScan("a.pt", archive.contents, archive.directory.offset), FormatError);
}

TEST(WindowSource, GivesWhatIsAtHandAndNamesWhatIsNot) {
  const std::string part = "bcd";
  const WindowSource window("a.pt", 6, 1, part);
  EXPECT_EQ(window.read_string(1, 3), "bcd");
  EXPECT_EQ(window.read_string(2, 1), "c");
  EXPECT_EQ(window.read_string(6, 0), "");
  for (const auto& [offset, bytes] : {std::pair(0, 1), std::pair(0, 3), std::pair(3, 2), std::pair(4, 1),
                                      std::pair(5, 2), std::pair(7, 0)}) {
    EXPECT_THROW(
        (void)window.read_string(static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(bytes)),
        FormatError)
        << offset << " " << bytes;
  }
}

TEST(WindowSource, AnswersForADirectoryAsTheFileDoes) {
  const Archive archive = make_archive();
  const std::string tail = archive.bytes.substr(archive.directory.offset);
  const WindowSource window("a.pt", archive.bytes.size(), archive.directory.offset, tail);
  const ZipDirectory directory = find_directory(window);
  EXPECT_EQ(directory.offset, archive.directory.offset);
  EXPECT_EQ(read_directory(window, directory).records.size(), archive.digest.records.size());
}

}  // namespace
}  // namespace ckptsim::storage::torch
