#include "simulator/report/table.h"

#include <gtest/gtest.h>

namespace ckptsim::simulator {
namespace {

Table example() {
  return {.columns = {{"name", false}, {"GB"}}, .rows = {{"a", "1.5"}, {"long one", "10.25"}}};
}

TEST(Table, TextAlignsNumbersRightAndLeavesNoBlanksAtLineEnds) {
  EXPECT_EQ(render(example(), TableFormat::kText),
            "name         GB\n"
            "a           1.5\n"
            "long one  10.25\n");
}

TEST(Table, MarkdownSaysTheAlignment) {
  EXPECT_EQ(render(example(), TableFormat::kMarkdown),
            "| name     |    GB |\n"
            "|----------|------:|\n"
            "| a        |   1.5 |\n"
            "| long one | 10.25 |\n");
}

TEST(Table, CsvQuotesWhatNeedsIt) {
  const Table table{.columns = {{"a"}, {"b"}}, .rows = {{"x,y", "say \"so\""}, {"plain", "two\nlines"}}};
  EXPECT_EQ(render(table, TableFormat::kCsv), "a,b\n\"x,y\",\"say \"\"so\"\"\"\nplain,\"two\nlines\"\n");
}

TEST(Table, ShowsControlCharactersInsteadOfSendingThemToTheTerminal) {
  const Table table{.columns = {{"a", false}, {"b", false}}, .rows = {{"\x1b[2Jx\ny\r", "\xff|"}}};
  EXPECT_EQ(render(table, TableFormat::kText),
            "a                  b\n"
            "\\x1b[2Jx\\x0ay\\x0d  \\xff|\n");
  EXPECT_EQ(render(table, TableFormat::kMarkdown),
            "| a                 | b      |\n"
            "|-------------------|--------|\n"
            "| \\x1b[2Jx\\x0ay\\x0d | \\xff\\| |\n");
  EXPECT_EQ(render(table, TableFormat::kCsv), "a,b\n\"\\x1b[2Jx\ny\\x0d\",\\xff|\n");
}

TEST(Table, OneLongCellCostsTheOtherRowsLittle) {
  Table table{.columns = {{"a", false}, {"b"}}, .rows = {{std::string(60'000, 'x'), "1"}}};
  for (int i = 0; i < 1000; ++i)
    table.rows.push_back({"short", "1"});
  for (const TableFormat format : {TableFormat::kText, TableFormat::kMarkdown, TableFormat::kCsv}) {
    const std::string text = render(table, format);
    EXPECT_LT(text.size(), 500'000U);
    EXPECT_NE(text.find(std::string(60'000, 'x')), std::string::npos);
  }
}

TEST(Table, WithoutRowsHasItsHeadings) {
  EXPECT_EQ(render({.columns = {{"a"}}, .rows = {}}, TableFormat::kCsv), "a\n");
}

}  // namespace
}  // namespace ckptsim::simulator
