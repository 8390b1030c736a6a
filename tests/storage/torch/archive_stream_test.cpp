#include "storage/torch/archive_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "archive_helpers.h"
#include "storage/content/content.h"
#include "storage/torch/crc32.h"
#include "storage/torch/serialization_id.h"

namespace ckptsim::storage::torch {
namespace {

// Moves on at every look.
class TickingClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override { return now_ += Time{10}; }

 private:
  mutable Time now_{};
};

std::uint32_t crc_of(std::string_view bytes) {
  return crc32(0, std::as_bytes(std::span(bytes)));
}

class EveryDialect : public testing::TestWithParam<ArchiveOptions> {
 protected:
  [[nodiscard]] static ArchiveStream stream() {
    return {example_file(), GetParam(), kSeed, kPass, kCheckpoint};
  }
  [[nodiscard]] static std::string bytes() { return archive_of(example_file(), GetParam()); }
};

TEST_P(EveryDialect, HasTheSizeThatIsKnownBeforehand) {
  EXPECT_EQ(bytes().size(), archive_bytes(example_file(), GetParam()));
  EXPECT_EQ(stream().file_bytes(), bytes().size());
}

TEST_P(EveryDialect, WritesTheSameBytesInPiecesOfAnySize) {
  const std::string expected = bytes();
  std::mt19937 random(1);
  for (const std::size_t longest :
       {std::size_t{1}, std::size_t{100}, std::size_t{5000}, std::size_t{1} << 20}) {
    ArchiveStream pieces = stream();
    std::string got;
    while (!pieces.finished()) {
      std::string piece(random() % (longest + 1), '\0');
      const std::size_t read = pieces.read(std::as_writable_bytes(std::span(piece)));
      ASSERT_TRUE(read == piece.size() || pieces.finished());
      got += piece.substr(0, read);
      ASSERT_EQ(pieces.position(), got.size());
    }
    ASSERT_TRUE(got == expected) << longest;
    EXPECT_EQ(pieces.digest().crc32, crc_of(expected));
  }
}

TEST_P(EveryDialect, KnowsTheDigestsOfFileAndRecords) {
  ArchiveStream whole = stream();
  const std::string file = read_all(whole);
  const FileDigest& digest = whole.digest();
  EXPECT_EQ(digest.file_bytes, file.size());
  EXPECT_EQ(digest.crc32, crc_of(file));
  EXPECT_GT(digest.records.size(), 14U);
  for (const RecordDigest& record : digest.records) {
    EXPECT_EQ(record.payload_offset % GetParam().alignment_bytes, 0U) << record.name;
    EXPECT_EQ(record.crc32, crc_of(file.substr(record.payload_offset, record.bytes))) << record.name;
  }
}

TEST_P(EveryDialect, HoldsTheContentOfEveryTensor) {
  ArchiveStream whole = stream();
  const std::string file = read_all(whole);
  std::uint64_t tensor_bytes = 0;
  for (const RecordDigest& record : whole.digest().records) {
    if (record.name.starts_with("data/")) {
      std::string expected(record.bytes, '\0');
      const std::uint64_t number = std::stoull(record.name.substr(5));
      Content({kSeed, kPass, kCheckpoint, example_file().name, number})
          .fill(0, std::as_writable_bytes(std::span(expected)));
      EXPECT_TRUE(file.substr(record.payload_offset, record.bytes) == expected) << record.name;
      tensor_bytes += record.bytes;
    }
  }
  EXPECT_EQ(tensor_bytes, payload_bytes(example_file()));
}

TEST_P(EveryDialect, HoldsTheContentThatIsAskedForWithEachTensorsPlaceInTheFile) {
  const ContentSettings settings{ContentKind::kWeights, 0.5, 0.5};
  ArchiveStream whole(example_file(), GetParam(), kSeed, kPass, kCheckpoint, settings);
  const std::string file = read_all(whole);
  std::uint64_t blocks = 0;
  for (const RecordDigest& record : whole.digest().records) {
    if (record.name.starts_with("data/")) {
      const std::uint64_t number = std::stoull(record.name.substr(5));
      const ValueKind kind = number == 0   ? ValueKind::kBFloat16
                             : number <= 2 ? ValueKind::kFloat32
                                           : ValueKind::kBytes;
      std::string expected(record.bytes, '\0');
      Content({kSeed, kPass, kCheckpoint, example_file().name, number}, settings,
              {kind, record.bytes, blocks})
          .fill(0, std::as_writable_bytes(std::span(expected)));
      EXPECT_TRUE(file.substr(record.payload_offset, record.bytes) == expected) << record.name;
      blocks += record.bytes / 4096;
    }
  }
  EXPECT_GT(blocks, 10U);
}

TEST_P(EveryDialect, GoesOnAfterAMove) {
  ArchiveStream first = stream();
  std::string got(1000, '\0');
  ASSERT_EQ(first.read(std::as_writable_bytes(std::span(got))), got.size());
  ArchiveStream second = std::move(first);
  got += read_all(second);
  EXPECT_TRUE(got == bytes());
}

TEST_P(EveryDialect, HasNothingAfterTheEnd) {
  ArchiveStream whole = stream();
  (void)read_all(whole);
  std::byte more{};
  EXPECT_TRUE(whole.finished());
  EXPECT_EQ(whole.read(std::span(&more, 1)), 0U);
}

INSTANTIATE_TEST_SUITE_P(ArchiveStream, EveryDialect,
                         testing::Values(ArchiveOptions{Dialect::kTorch113, 64},
                                         ArchiveOptions{Dialect::kTorch113, 4096},
                                         ArchiveOptions{Dialect::kCurrent, 64},
                                         ArchiveOptions{Dialect::kCurrent, 4096}));

TEST(ArchiveStream, ChangesItsContentWithSeedPassAndCheckpoint) {
  const auto crc_with = [](std::uint64_t seed, std::uint64_t pass, std::uint64_t checkpoint) {
    ArchiveStream stream(example_file(), {}, seed, pass, checkpoint);
    (void)read_all(stream);
    return stream.digest().crc32;
  };
  EXPECT_EQ(crc_with(1, 1, 1), crc_with(1, 1, 1));
  EXPECT_NE(crc_with(2, 1, 1), crc_with(1, 1, 1));
  EXPECT_NE(crc_with(1, 2, 1), crc_with(1, 1, 1));
  EXPECT_NE(crc_with(1, 1, 2), crc_with(1, 1, 1));
}

TEST(ArchiveStream, RefusesADictOfOneEntry) {
  const FileSpec file{"x.pt", {{"only", std::int64_t{1}}}};
  EXPECT_THROW(ArchiveStream(file, {}, 1, 1, 1), std::invalid_argument);
  EXPECT_THROW((void)archive_bytes(file, {}), std::invalid_argument);
}

TEST(ArchiveStream, WritesAnEmptyDict) {
  EXPECT_EQ(archive_of(FileSpec{"x.pt", {}}, {}).size(), archive_bytes(FileSpec{"x.pt", {}}, {}));
}

TEST(ArchiveStreamDeathTest, HasNoDigestBeforeTheEnd) {
  const ArchiveStream stream(example_file(), {}, 1, 1, 1);
  EXPECT_DEATH((void)stream.digest(), "before the end of mp_rank_00_model_states.pt");
}

TEST(SerializationId, Is40DigitsThatDependOnNamesAndChecksums) {
  const std::vector<RecordDigest> records = {{"data.pkl", 64, 10, 0x12345678},
                                             {"version", 128, 2, 0x9abcdef0}};
  const std::string id = serialization_id(records);
  EXPECT_EQ(id.size(), 40U);
  EXPECT_EQ(id.find_first_not_of("0123456789"), std::string::npos);

  std::vector<RecordDigest> other_name = records;
  other_name[0].name = "data/0";
  EXPECT_NE(serialization_id(other_name).substr(0, 20), id.substr(0, 20));
  EXPECT_EQ(serialization_id(other_name).substr(20), id.substr(20));

  std::vector<RecordDigest> other_checksum = records;
  other_checksum[1].crc32 = 1;
  EXPECT_EQ(serialization_id(other_checksum).substr(0, 20), id.substr(0, 20));
  EXPECT_NE(serialization_id(other_checksum).substr(20), id.substr(20));
}

TEST(SerializationId, CombinesChecksumsAsTorchDoes) {
  // hash_combine(0, v) = v + 0x9e3779b9
  EXPECT_EQ(serialization_id(std::vector<RecordDigest>{{"a", 0, 1, 7}}).substr(20), "00000000002654435776");
}

TEST(ArchiveStream, ASampleTimesContentAndCrcApartAndChangesNoByte) {
  const TickingClock clock;
  MakingSample sample;
  ArchiveStream sampled(example_file(), {}, kSeed, kPass, kCheckpoint);
  sampled.sample(clock, sample);
  EXPECT_EQ(read_all(sampled), archive_of(example_file(), {}));
  EXPECT_GT(sample.content_ns, 0);
  EXPECT_EQ(sample.content_ns, sample.crc_ns) << "a tick each";
  EXPECT_EQ(sample.content_ns % 10, 0);
}

}  // namespace
}  // namespace ckptsim::storage::torch
