#include "simulator/report/verify_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "storage/text/printable.h"

namespace ckptsim::simulator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// As a drive may hold it: an escape sequence, and a line of its own.
constexpr const char* kName = "a\033[31mX\nckptsim: all right\n\u009b.pt";

VerifyResult with_that_name_everywhere() {
  VerifiedCheckpoint checkpoint;
  checkpoint.path = std::string("folder/") + kName;
  checkpoint.name = "n";
  checkpoint.backend = "buffered";
  checkpoint.backend_reason = std::string("auto: ") + kName;
  checkpoint.findings = {{.kind = "unlisted", .file = kName, .words = std::string("is ") + kName}};
  checkpoint.findings.push_back({.kind = "bytes",
                                 .file = kName,
                                 .bytes = 1,
                                 .wrong_bytes = 1,
                                 .part = "payload",
                                 .record = kName,
                                 .tensor = kName,
                                 .words = ""});
  VerifyResult result;
  result.checkpoints = {checkpoint};
  result.incomplete = {kName};
  result.missing_parts = {kName};
  return result;
}

TEST(VerifyReport, ShowsControlCharactersInNamesEscaped) {
  for (const TableFormat format : {TableFormat::kText, TableFormat::kMarkdown, TableFormat::kCsv}) {
    const std::string text = verify_report(with_that_name_everywhere(), format);
    EXPECT_EQ(storage::printable_lines(text), text);
    EXPECT_THAT(text, Not(HasSubstr("\nckptsim: all right"))) << text;
    EXPECT_THAT(text, HasSubstr("\\x1b[31mX"));
  }
  const std::string csv = verify_report(with_that_name_everywhere(), TableFormat::kCsv);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2) << csv;
}

TEST(VerifyReport, SaysOfPartsAloneThatNothingIsCompleteAndThatTheyAreRight) {
  VerifyResult result;
  result.checkpoints.resize(1);
  result.missing_parts = {"n, pass 1, checkpoint 1: part 2 of 2", "n, pass 1, checkpoint 2: part 2 of 2"};
  EXPECT_THAT(verify_summary(result), HasSubstr("no complete checkpoint"));
  EXPECT_THAT(verify_summary(result), HasSubstr("checkpoint 1: part 2 of 2; and 1 more"));
  EXPECT_THAT(verify_report(result, TableFormat::kText), HasSubstr("right, incomplete"));
  EXPECT_THAT(verify_json(result), HasSubstr("\"complete\": false"));
  result.checkpoints[0].complete = true;
  EXPECT_EQ(verify_summary(result), "");
}

}  // namespace
}  // namespace ckptsim::simulator
