#include "simulator/verify/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ckptsim::simulator {
namespace {

Finding example() {
  return {.kind = "bytes",
          .file = "a.pt",
          .offset = 4096,
          .bytes = 10,
          .wrong_bytes = 7,
          .part = "payload",
          .record = "data/3",
          .tensor = "w",
          .tensor_offset = 64,
          .words = "the CRCs say: so"};
}

TEST(Finding, SaysWhichBytesOfWhichTensorDiffer) {
  Finding finding = example();
  EXPECT_EQ(sentence(finding),
            "a.pt: 7 of the bytes 4096 to 4105 differ, in the payload of record data/3, tensor w at byte 64; "
            "the CRCs say: so");
  EXPECT_EQ(headline(finding),
            "a.pt: 7 of the bytes 4096 to 4105 differ, in the payload of record data/3, tensor w at byte 64");
  finding.bytes = finding.wrong_bytes = 1;
  finding.tensor.clear();
  finding.part = "header";
  finding.words.clear();
  EXPECT_EQ(sentence(finding), "a.pt: byte 4096 differs, in the header of record data/3");
  finding.record.clear();
  finding.part = "end";
  EXPECT_EQ(sentence(finding), "a.pt: byte 4096 differs, in the end of the archive");
}

TEST(Finding, SaysHowFewBytesDiffer) {
  Finding finding = example();
  finding.expected = "3f 00";
  finding.found = "7f 01";
  EXPECT_THAT(headline(finding),
              ::testing::HasSubstr("4105 differ (7f 01 instead of 3f 00), in the payload"));
  finding.bytes = finding.wrong_bytes = 1;
  finding.expected = "3f";
  finding.found = "7f";
  EXPECT_THAT(headline(finding),
              ::testing::HasSubstr("byte 4096 differs (7f instead of 3f), in the payload"));
}

TEST(Finding, SaysWhatElseIsWrong) {
  EXPECT_EQ(sentence({.kind = "missing", .file = "a.pt", .words = "is missing"}), "a.pt: is missing");
  EXPECT_EQ(sentence({.kind = "too_short", .file = "a.pt", .offset = 5, .bytes = 5, .words = "are missing"}),
            "a.pt: bytes 5 to 9 are missing");
}

TEST(Finding, TravelsBetweenProcessesWhole) {
  Finding finding = example();
  finding.expected = "3f";
  finding.found = "7f";
  const Finding back = finding_from_text(finding_to_text(finding));
  EXPECT_EQ(back.kind, finding.kind);
  EXPECT_EQ(back.offset, finding.offset);
  EXPECT_EQ(back.wrong_bytes, finding.wrong_bytes);
  EXPECT_EQ(sentence(back), sentence(finding));
}

}  // namespace
}  // namespace ckptsim::simulator
