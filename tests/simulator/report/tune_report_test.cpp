#include "simulator/report/tune_report.h"

#include <gmock/gmock.h>

namespace ckptsim::simulator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TuneResult example() {
  TuneResult result;
  result.dimensions = {{.key = "storage.queue_depth", .values = {"4", "16"}},
                       {.key = "storage.preallocate", .values = {"false", "true"}}};
  result.found.trials = {{.settings = {"storage.queue_depth=4", "storage.preallocate=false"},
                          .screened = {1},
                          .compared = {2, 3, 4}},
                         {.settings = {"storage.queue_depth=16", "storage.preallocate=false"},
                          .screened = {9},
                          .compared = {5, 6, 7}},
                         {.settings = {"storage.queue_depth=16", "storage.preallocate=true"},
                          .refusal = "cannot be preallocated"}};
  result.found.best = 1;
  result.found.verdict = Verdict::kBetter;
  result.found.gain = 1;
  result.found.noise = 0.667;
  result.found.comparisons = 3;
  result.facts.bounds = {{"drive", 7}, {"host", 2}};
  result.best = R"({"storage": {"queue_depth": 16}})";
  return result;
}

TEST(TuneReport, TableShowsTheFiguresOfTheComparisonAndWhatWasRefused) {
  const Table table = tried_table(example());
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_THAT(table.rows[0],
              ElementsAre("4", "false", "4", "3.000", "2.000", "4.000", "as configured, compared"));
  EXPECT_THAT(table.rows[1], ElementsAre("16", "false", "4", "6.000", "5.000", "7.000", "best, compared"));
  EXPECT_THAT(table.rows[2],
              ElementsAre("16", "true", "0", "-", "-", "-", "refused: cannot be preallocated"));
}

TEST(TuneReport, SaysHowSureItIs) {
  TuneResult result = example();
  EXPECT_THAT(verdict_sentence(result), AllOf(HasSubstr("100.0 % faster"), HasSubstr("noise of 66.7 %"),
                                              Not(HasSubstr("not tried")), Not(HasSubstr("host"))));
  result.found.verdict = Verdict::kNotBetter;
  EXPECT_THAT(verdict_sentence(result), EndsWith("the best settings are the configured ones."));
  result.found.verdict = Verdict::kOutOfTime;
  EXPECT_THAT(verdict_sentence(result), HasSubstr("--seconds"));
}

TEST(TuneReport, SaysWhatWeakensIt) {
  TuneResult result = example();
  result.found.not_tried = 5;
  result.facts.bounds = {{"drive", 4}, {"host", 5}};
  EXPECT_THAT(verdict_sentence(result), AllOf(HasSubstr("5 settings were not tried"), HasSubstr("The host")));
}

TEST(TuneReport, TextEndsWithTheSettingsAndTheVerdict) {
  const TuneResult result = example();
  EXPECT_THAT(tune_report(result, TableFormat::kText),
              EndsWith(result.best + "\n" + verdict_sentence(result) + "\n"));
  EXPECT_THAT(tune_report(result, TableFormat::kMarkdown), HasSubstr("```json\n" + result.best + "\n```"));
  EXPECT_EQ(tune_report(result, TableFormat::kCsv), render(tried_table(result), TableFormat::kCsv));
}

}  // namespace
}  // namespace ckptsim::simulator
