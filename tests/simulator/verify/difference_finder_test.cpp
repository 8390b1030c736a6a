#include "simulator/verify/difference_finder.h"

#include <gtest/gtest.h>

#include <vector>

#include "storage/torch/archive_stream.h"

namespace ckptsim::simulator {
namespace {

namespace torch = storage::torch;
using Bytes = std::vector<std::byte>;

// One archive, and its bytes.
class DifferenceFinding : public testing::Test {
 protected:
  DifferenceFinding() {
    torch::ArchiveStream stream(file_, {}, 1, 1, 1);
    right_.resize(stream.file_bytes());
    EXPECT_EQ(stream.read(right_), right_.size());
    found_ = right_;
  }

  void damage(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      found_[i] ^= std::byte{1};
  }

  // Handed over in pieces of some length.
  [[nodiscard]] DifferenceFinder finder(std::size_t piece = 1000) const {
    DifferenceFinder finder(layout_);
    for (std::size_t at = 0; at < right_.size(); at += piece) {
      const std::size_t count = std::min(piece, right_.size() - at);
      finder.compare(at, std::span(right_).subspan(at, count), std::span(found_).subspan(at, count));
    }
    return finder;
  }

  [[nodiscard]] std::uint64_t payload(std::string_view record) const {
    for (const torch::RecordLayout& layout : layout_.records) {
      if (layout.name == record) return layout.payload_offset;
    }
    ADD_FAILURE() << record;
    return 0;
  }

  torch::FileSpec file_{"a.pt",
                        {{"w", torch::TensorSpec{torch::ScalarType::kBFloat16, {3000}}},
                         {"x", torch::TensorSpec{torch::ScalarType::kUInt8, {500}}}}};
  torch::ArchiveLayout layout_ = torch::lay_out_archive(file_, {});
  Bytes right_;
  Bytes found_;
};

TEST_F(DifferenceFinding, FindsNothingInEqualBytes) {
  EXPECT_EQ(finder().ranges(), 0U);
  EXPECT_EQ(finder().wrong_bytes(), 0U);
}

TEST_F(DifferenceFinding, FindsOneRangeWhateverThePieces) {
  const std::uint64_t begin = payload("data/0") + 100;
  damage(begin, begin + 2500);
  for (const std::size_t piece : {1U, 7U, 1000U, 100000U}) {
    const DifferenceFinder found = finder(piece);
    EXPECT_EQ(found.ranges(), 1U);
    EXPECT_EQ(found.wrong_bytes(), 2500U);
    ASSERT_EQ(found.first_ranges().size(), 1U);
    const DifferentRange& range = found.first_ranges()[0];
    EXPECT_EQ(range.begin, begin);
    EXPECT_EQ(range.end, begin + 2500);
    EXPECT_EQ(range.wrong_bytes, 2500U);
    EXPECT_EQ(range.place.tensor, 0U);
  }
}

TEST_F(DifferenceFinding, MergesNeighboursAndKeepsApartWhatIsFarther) {
  const std::uint64_t begin = payload("data/0");
  const std::uint64_t gap = DifferenceFinder::kMostEqualBetween;
  damage(begin, begin + 1);
  damage(begin + 1 + gap, begin + 2 + gap);          // as far as it may be
  damage(begin + 3 + 2 * gap, begin + 4 + 2 * gap);  // one byte farther
  const DifferenceFinder found = finder();
  ASSERT_EQ(found.ranges(), 2U);
  EXPECT_EQ(found.first_ranges()[0].end, begin + 2 + gap);
  EXPECT_EQ(found.first_ranges()[0].wrong_bytes, 2U);
  EXPECT_EQ(found.first_ranges()[1].begin, begin + 3 + 2 * gap);
  EXPECT_EQ(found.wrong_bytes(), 3U);
}

TEST_F(DifferenceFinding, DividesARangeWhereItsMeaningChanges) {
  const std::uint64_t begin = payload("data/1");
  damage(begin - 3, begin + 5);
  const DifferenceFinder found = finder();
  ASSERT_EQ(found.ranges(), 2U);
  EXPECT_EQ(found.first_ranges()[0].place.part, torch::ArchivePart::kPadding);
  EXPECT_EQ(found.first_ranges()[0].end, begin);
  EXPECT_EQ(found.first_ranges()[1].place.part, torch::ArchivePart::kPayload);
  EXPECT_EQ(found.first_ranges()[1].wrong_bytes, 5U);
}

TEST_F(DifferenceFinding, KeepsTheFirstRangesAndCountsAll) {
  const std::uint64_t begin = payload("data/0");
  for (std::uint64_t i = 0; i < 100; ++i)
    damage(begin + i * 50, begin + i * 50 + 2);
  const DifferenceFinder found = finder();
  EXPECT_EQ(found.ranges(), 100U);
  EXPECT_EQ(found.wrong_bytes(), 200U);
  ASSERT_EQ(found.first_ranges().size(), DifferenceFinder::kMostRanges);
  EXPECT_EQ(found.first_ranges().back().begin, begin + (DifferenceFinder::kMostRanges - 1) * 50);
  EXPECT_EQ(found.first_ranges().back().wrong_bytes, 2U);
}

}  // namespace
}  // namespace ckptsim::simulator
