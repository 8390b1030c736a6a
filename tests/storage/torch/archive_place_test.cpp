#include "storage/torch/archive_place.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "storage/torch/zip_format.h"

namespace ckptsim::storage::torch {
namespace {

FileSpec example() {
  return {"a.pt",
          {{"w", TensorSpec{ScalarType::kBFloat16, {100}}},
           {"x", TensorSpec{ScalarType::kUInt8, {7}}},
           {"iteration", std::int64_t{3}}}};
}

ArchiveLayout layout_of(Dialect dialect) {
  return lay_out_archive(example(), {.dialect = dialect, .alignment_bytes = 64});
}

class ArchivePlaceOfDialect : public testing::TestWithParam<Dialect> {};

TEST_P(ArchivePlaceOfDialect, StretchesFollowEachOtherFromTheFirstByteToTheLast) {
  const ArchiveLayout layout = layout_of(GetParam());
  std::uint64_t offset = 0;
  while (offset < layout.file_bytes) {
    const ArchivePlace place = place_in_archive(layout, offset);
    ASSERT_EQ(place.begin, offset);
    ASSERT_GT(place.end, place.begin);
    for (const std::uint64_t inside : {place.begin, place.end - 1, (place.begin + place.end) / 2}) {
      const ArchivePlace same = place_in_archive(layout, inside);
      EXPECT_EQ(same.begin, place.begin);
      EXPECT_EQ(same.end, place.end);
      EXPECT_EQ(same.part, place.part);
    }
    offset = place.end;
  }
  EXPECT_EQ(offset, layout.file_bytes);
}

TEST_P(ArchivePlaceOfDialect, SumsOfPartsAreThoseOfTheFormat) {
  const ArchiveLayout layout = layout_of(GetParam());
  std::map<ArchivePart, std::uint64_t> bytes;
  for (std::uint64_t offset = 0; offset < layout.file_bytes; ++offset)
    ++bytes[place_in_archive(layout, offset).part];
  std::uint64_t payload = 0;
  std::uint64_t descriptors = 0;
  for (const RecordLayout& record : layout.records) {
    payload += record.entry.bytes;
    descriptors += descriptor_bytes(record.entry);
  }
  EXPECT_EQ(bytes[ArchivePart::kPayload], payload);
  EXPECT_EQ(bytes[ArchivePart::kDescriptor], descriptors);
  EXPECT_EQ(bytes[ArchivePart::kDirectory], layout.directory.bytes);
  EXPECT_EQ(bytes[ArchivePart::kEnd], kTailBytes);
  EXPECT_EQ(bytes[ArchivePart::kHeader] + bytes[ArchivePart::kPadding] + payload + descriptors,
            layout.directory.offset);
}

INSTANTIATE_TEST_SUITE_P(Both, ArchivePlaceOfDialect, testing::Values(Dialect::kTorch113, Dialect::kCurrent));

TEST(ArchivePlace, NamesRecordAndTensorOfAPayload) {
  const ArchiveLayout layout = layout_of(Dialect::kCurrent);
  for (const RecordLayout& record : layout.records) {
    const ArchivePlace place = place_in_archive(layout, record.payload_offset);
    EXPECT_EQ(place.part, ArchivePart::kPayload);
    EXPECT_EQ(layout.records.at(place.record.value()).name, record.name);
    EXPECT_EQ(place.tensor.has_value(), record.name.starts_with("data/")) << record.name;
    if (!place.tensor) continue;
    EXPECT_EQ("data/" + std::to_string(*place.tensor), record.name);
  }
}

TEST(ArchivePlace, TellsAHeaderFromItsPadding) {
  const ArchiveLayout layout = layout_of(Dialect::kCurrent);
  const std::uint64_t first_padding = place_in_archive(layout, 0).end;
  EXPECT_EQ(encode_local_header(layout.records[0].entry, 64).substr(first_padding, 3), "ZZZ");
  EXPECT_EQ(place_in_archive(layout, first_padding).part, ArchivePart::kPadding);
}

TEST(ArchivePlace, BeyondTheEndIsTheEnd) {
  const ArchiveLayout layout = layout_of(Dialect::kCurrent);
  EXPECT_EQ(place_in_archive(layout, layout.file_bytes + 100).part, ArchivePart::kEnd);
}

}  // namespace
}  // namespace ckptsim::storage::torch
