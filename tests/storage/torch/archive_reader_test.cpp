#include "storage/torch/archive_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <system_error>

#include "archive_helpers.h"
#include "storage/errors.h"

namespace ckptsim::storage::torch {
namespace {

class ArchiveReader : public testing::Test {
 protected:
  [[nodiscard]] ArchiveContents read(const std::string& bytes) const {
    const auto path = folder_.file("archive.pt");
    write_file(path, bytes);
    return read_archive(path);
  }

  // True when the file was readable all the same; anything but FormatError escapes and fails the test.
  [[nodiscard]] bool survives(const std::string& bytes) const {
    try {
      const ArchiveContents contents = read(bytes);
      for (const ArchiveRecord& record : contents.records) {
        (void)payload_crc32(folder_.file("archive.pt"), record);
      }
      return true;
    } catch (const FormatError&) {
      return false;
    }
  }

  TemporaryFolder folder_;
};

TEST_F(ArchiveReader, ReadsBothDialectsAtAnyAlignment) {
  for (const Dialect dialect : {Dialect::kTorch113, Dialect::kCurrent}) {
    for (const std::uint64_t alignment : {64U, 4096U}) {
      ArchiveStream stream(example_file(), {dialect, alignment}, kSeed, kPass, kCheckpoint);
      const ArchiveContents contents = read(read_all(stream));
      const FileDigest& digest = stream.digest();
      EXPECT_EQ(contents.file_bytes, digest.file_bytes);
      EXPECT_EQ(contents.root, "mp_rank_00_model_states");
      ASSERT_EQ(contents.records.size(), digest.records.size());
      for (std::size_t i = 0; i < digest.records.size(); ++i) {
        EXPECT_EQ(contents.records[i].name, digest.records[i].name);
        EXPECT_EQ(contents.records[i].payload_offset, digest.records[i].payload_offset);
        EXPECT_EQ(contents.records[i].bytes, digest.records[i].bytes);
        EXPECT_EQ(contents.records[i].crc32, digest.records[i].crc32);
        EXPECT_FALSE(contents.records[i].zip64);
        EXPECT_EQ(payload_crc32(folder_.file("archive.pt"), contents.records[i]), digest.records[i].crc32);
      }
      EXPECT_EQ(contents.tensors.size(), 15U);
      EXPECT_EQ(contents.scalars.size(), 2U);
    }
  }
}

TEST_F(ArchiveReader, SeesADamagedPayload) {
  ArchiveStream stream(example_file(), {}, kSeed, kPass, kCheckpoint);
  std::string bytes = read_all(stream);
  const auto& records = stream.digest().records;
  const auto tensor =
      std::find_if(records.begin(), records.end(), [](const auto& r) { return r.name == "data/0"; });
  ASSERT_NE(tensor, records.end());
  bytes[tensor->payload_offset + tensor->bytes - 1] ^= 1;
  for (const ArchiveRecord& record : read(bytes).records) {
    EXPECT_EQ(payload_crc32(folder_.file("archive.pt"), record) != record.crc32, record.name == "data/0");
  }
}

TEST_F(ArchiveReader, NamesAFileThatIsNotThere) {
  try {
    (void)read_archive(folder_.file("missing.pt"));
    FAIL() << "read a file that is not there";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    EXPECT_NE(std::string(error.what()).find("missing.pt"), std::string::npos);
  }
}

TEST_F(ArchiveReader, NamesFileAndOffsetOfAFormatError) {
  std::string bytes = archive_of(example_file(), {});
  bytes[0] = 'Q';
  try {
    (void)read(bytes);
    FAIL() << "read a damaged header";
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("archive.pt: at 0: not the header of"), std::string::npos)
        << error.what();
  }
}

TEST_F(ArchiveReader, RefusesWhatIsNoArchive) {
  EXPECT_THROW((void)read(""), FormatError);
  EXPECT_THROW((void)read(std::string(5000, 'x')), FormatError);
  EXPECT_THROW((void)read_archive(folder_.file(".")), FormatError);
  const std::string empty_zip = "PK\x05\x06" + std::string(18, '\0');
  EXPECT_THROW((void)read(empty_zip), FormatError);
}

TEST_F(ArchiveReader, RefusesAPayloadThatIsShorterThanItsTensor) {
  // The same number of pickle bytes, another count of elements.
  const auto file_of = [](std::int64_t elements) {
    return FileSpec{"x.pt", {{"t", TensorSpec{ScalarType::kUInt8, {elements}}}, {"n", std::int64_t{1}}}};
  };
  std::string bytes = archive_of(file_of(100), {});
  const std::size_t count = bytes.find("K\x64tq");
  ASSERT_NE(count, std::string::npos);
  bytes[count + 1] = 101;
  EXPECT_THROW((void)read(bytes), FormatError);
}

TEST_F(ArchiveReader, RefusesEveryTruncation) {
  const std::string whole = archive_of(example_file(), {Dialect::kTorch113, 64});
  std::size_t step = 1;
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += step) {
    EXPECT_THROW((void)read(whole.substr(0, bytes)), FormatError) << bytes;
    step = bytes < 2000 || whole.size() - bytes < 2000 ? 1 : 997;
  }
}

TEST_F(ArchiveReader, SurvivesFlippedBytes) {
  FileSpec file = example_file();
  file.entries.resize(9);
  const std::string whole = archive_of(file, {});
  // Damage is aimed at what is parsed: pickle and headers in front, the directory behind.
  std::mt19937 random(7);
  int readable = 0;
  constexpr int rounds = 4000;
  for (int round = 0; round < rounds; ++round) {
    std::string damaged = whole;
    for (std::uint32_t flips = 1 + random() % 4; flips > 0; --flips) {
      const std::size_t place = random() % 2000;
      char& byte = damaged[random() % 2 == 0 ? place : damaged.size() - 1 - place];
      byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << (random() % 8)));
    }
    readable += survives(damaged) ? 1 : 0;
  }
  EXPECT_GT(readable, 0);  // padding and payload may change
  EXPECT_LT(readable, rounds * 3 / 4);
}

TEST_F(ArchiveReader, SurvivesPiecesThatAreMissingDoubledOrMoved) {
  FileSpec file = example_file();
  file.entries.resize(9);
  const std::string whole = archive_of(file, {Dialect::kTorch113, 64});
  std::mt19937 random(8);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    const std::size_t from = random() % damaged.size();
    const std::string piece = damaged.substr(from, 1 + random() % 200);
    if (random() % 2 == 0) {
      damaged.erase(from, piece.size());
    }
    if (random() % 2 == 0) {
      damaged.insert(random() % damaged.size(), piece);
    }
    (void)survives(damaged);
  }
}

}  // namespace
}  // namespace ckptsim::storage::torch
