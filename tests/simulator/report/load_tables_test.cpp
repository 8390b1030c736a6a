#include "simulator/report/load_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "simulator/report/result_folder.h"
#include "simulator/report/run_tables.h"
#include "tests/simulator/report/example_run.h"

namespace ckptsim::simulator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LoadTables, HaveARowForEachCheckpointThatWasReadBack) {
  const Table table = load_table(testing::example_run_with_loads());
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0], ::testing::ElementsAre("3", "1", "0.200", "20.000", "rank 1", "1.33", "0.0",
                                                    "10.0", "90.0", "0.0", "0.0", "0.0"));
  EXPECT_EQ(table.rows[1][2], "0.300");
}

TEST(LoadTables, StandInAReportOnlyWhereSomethingWasReadBack) {
  const std::string with = run_report(testing::example_run_with_loads(), TableFormat::kText);
  EXPECT_THAT(with, HasSubstr("metadata %"));
  EXPECT_THAT(
      with,
      HasSubstr(
          "each rank read back the files that it wrote, and every record the CRC-32 that its file states"));
  EXPECT_THAT(with, Not(HasSubstr("FROM CACHE")));
  const std::string without = run_report(testing::example_run(), TableFormat::kText);
  EXPECT_THAT(without, Not(HasSubstr("load")));
  EXPECT_THAT(without, Not(HasSubstr("Load")));
}

TEST(LoadTables, APassTableAveragesTheLoadsOfAPass) {
  const Table table = pass_table(testing::example_run_with_loads());
  const std::vector<std::string>& last = table.rows.back();
  EXPECT_EQ(table.columns[8].heading, "load average s");
  EXPECT_EQ(last[8], "0.250");
  EXPECT_EQ(last[9], "0.071");
  EXPECT_EQ(last[10], "16.000") << "8 GB in 0.5 s";
  EXPECT_EQ(table.rows[1][8], "-");
  EXPECT_EQ(table.rows[1].size(), table.columns.size());
}

TEST(LoadTables, AReportSaysWhatCameOutOfMemoryAndWhoseFilesWereRead) {
  RunResult run = testing::example_run_with_loads();
  run.config.checkpoint.load_rank_shift = true;
  std::vector<RankLoad> ranks = run.passes.back().checkpoints[1].load->ranks;
  ranks[0].cached_bytes_before = 1'000'000'000;
  run.passes.back().checkpoints[1].load = summarise_load(std::move(ranks), 0, true);
  const std::string text = run_report(run, TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("read back the files of another rank (checkpoint.load_rank_shift)"));
  EXPECT_THAT(text, HasSubstr("LOADED FROM CACHE"));
  EXPECT_THAT(text, HasSubstr("up to 25.0 % of their bytes"));
}

TEST(LoadTables, AReportSaysThatThePageCacheCouldNotBeLookedInto) {
  RunResult run = testing::example_run_with_loads();
  for (const bool through_page_cache : {false, true}) {
    std::vector<RankLoad> ranks = run.passes.back().checkpoints[1].load->ranks;
    ranks[0].cached_bytes_before.reset();
    run.passes.back().checkpoints[1].load = summarise_load(std::move(ranks), 0, through_page_cache);
    EXPECT_EQ(load_table(run).rows.back().back(), "unknown");
    const std::string text = run_report(run, TableFormat::kText);
    EXPECT_THAT(text, HasSubstr("in the page cache is not known"));
    EXPECT_EQ(text.find("PERHAPS LOADED FROM CACHE") != std::string::npos, through_page_cache);
  }
}

TEST(LoadTables, TheCsvHasTheStragglersPhasesAndNothingWhereNothingWasRead) {
  const std::string csv = checkpoints_csv(testing::example_run_with_loads());
  EXPECT_THAT(csv, HasSubstr(",load_duration_s,load_throughput_gb_per_s,load_straggler_rank,load_skew,"
                             "load_idle_share,load_cached_share,load_open_s,load_metadata_s,load_read_s,"
                             "load_close_s\n"));
  EXPECT_THAT(csv, HasSubstr(",0.200000000,20.000000,1,1.333333,0.000000,0.000000,0.000000000,0.020000000,"
                             "0.180000000,0.000000000\n"));
  EXPECT_THAT(csv, HasSubstr(",,,,,,,,,,\n"));
}

}  // namespace
}  // namespace ckptsim::simulator
