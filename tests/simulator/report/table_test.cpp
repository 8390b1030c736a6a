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

TEST(Table, WithoutRowsHasItsHeadings) {
  EXPECT_EQ(render({.columns = {{"a"}}, .rows = {}}, TableFormat::kCsv), "a\n");
}

}  // namespace
}  // namespace ckptsim::simulator
