#include "simulator/report/run_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "simulator/report/plan_tables.h"
#include "tests/simulator/report/example_run.h"

namespace ckptsim::simulator {
namespace {

using ::testing::HasSubstr;

TEST(RunTables, APassTableComparesMeasuredPassesWithTheFirstOfThem) {
  const Table table = pass_table(testing::example_run());
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[0][0], "warm-up 1");
  EXPECT_EQ(table.rows[0].back(), "-") << "a warm-up pass stands in no comparison";
  EXPECT_EQ(table.rows[1][2], "0.450") << "0.4 and 0.5 s";
  EXPECT_EQ(table.rows[1].back(), "1.000");
  EXPECT_EQ(table.rows[3][2], "0.650");
  EXPECT_EQ(table.rows[3].back(), "1.444");
  EXPECT_EQ(table.rows[1][3], "0.071") << "the sample deviation of 0.4 and 0.5";
}

TEST(RunTables, ASingleCheckpointHasNoDeviation) {
  RunResult run = testing::example_run();
  for (PassResult& pass : run.passes) {
    pass.checkpoints.resize(1);
    summarise_pass(pass);
  }
  EXPECT_EQ(pass_table(run).rows[1][3], "-");
}

TEST(RunTables, APassOfRedoneCheckpointsThatWereReadBackHasACellForEachColumn) {
  RunResult run = testing::example_run_with_loads();
  for (CheckpointResult& checkpoint : run.passes.back().checkpoints)
    checkpoint.redone = true;
  summarise_pass(run.passes.back());
  const Table table = pass_table(run);
  for (const auto& row : table.rows)
    EXPECT_EQ(row.size(), table.columns.size());
  EXPECT_EQ(table.rows.back()[1], "0");
  EXPECT_EQ(table.rows.back()[8], "0.250") << "loads of redone checkpoints count";
}

TEST(RunTables, SumsOfFiguresThatAreTooLargeForAnIntegerAreNotNegative) {
  RunResult run = testing::example_run_with_loads();
  for (CheckpointResult& checkpoint : run.passes.back().checkpoints) {
    checkpoint.save.duration_ns = INT64_MAX;
    checkpoint.load->duration_ns = INT64_MAX;
    for (RankSave& rank : checkpoint.save.ranks) {
      rank.duration_ns = INT64_MAX;
      rank.phase_ns.fill(INT64_MAX / 4);
      rank.profile = RankProfile{INT64_MAX / 4, INT64_MAX / 4, INT64_MAX / 4, INT64_MAX / 4};
    }
    for (RankLoad& rank : checkpoint.load->ranks) {
      rank.duration_ns = INT64_MAX;
      rank.phase_ns.fill(INT64_MAX / 2);
    }
  }
  summarise_pass(run.passes.back());
  EXPECT_GT(run.passes.back().throughput_gb_per_s, 0);
  EXPECT_GT(run.passes.back().load->throughput_gb_per_s, 0);
  EXPECT_EQ(checkpoint_table(run).rows.back()[7], "25.0");
  EXPECT_THAT(run_report(run, TableFormat::kText), ::testing::Not(HasSubstr("-25.0")));
  EXPECT_EQ(profile_table(run).rows.back()[1], "25.0");
}

TEST(RunTables, WhatAStoredResultSaysCannotMoveTheTerminalsCursor) {
  RunResult run = testing::example_run();
  run.environment.targets[0].path = "/mnt/\x1b[2J";
  run.passes[0].checkpoints[0].save.bound_words = "\x1b]0;title\a";
  EXPECT_THAT(run_report(run, TableFormat::kText), ::testing::Not(HasSubstr("\x1b")));
}

TEST(RunTables, ACheckpointTableNamesTheStraggler) {
  const Table table = checkpoint_table(testing::example_run());
  ASSERT_EQ(table.rows.size(), 8U);
  EXPECT_EQ(table.rows[2][2], "0.400");
  EXPECT_EQ(table.rows[2][3], "10.000") << "4 GB in 0.4 s";
  EXPECT_EQ(table.rows[2][4], "rank 1");
}

TEST(RunTables, EveryReportNamesModelTrainingStateAndLayoutAndSaysScaled) {
  RunResult run = testing::example_run();
  for (const TableFormat format : {TableFormat::kText, TableFormat::kMarkdown}) {
    const std::string text = run_report(run, format);
    EXPECT_THAT(text, HasSubstr("llama3.1-8b, adam8bit, "));
    EXPECT_THAT(text, HasSubstr("layout deepspeed"));
    EXPECT_THAT(text, HasSubstr("SCALED by 0.5"));
    EXPECT_THAT(text, HasSubstr("/mnt/nvme0"));
  }
  run.config.scale = 1;
  EXPECT_THAT(run_report(run, TableFormat::kText), ::testing::Not(HasSubstr("SCALED")));
}

TEST(RunTables, SayWhatWasRemovedOfAnEarlierRunAndHowLongItTook) {
  RunResult run = testing::example_run();
  EXPECT_THAT(run_report(run, TableFormat::kText), ::testing::Not(HasSubstr("earlier run")));
  TargetEnvironment& target = run.environment.targets[0];
  target.earlier_files_removed = 520;
  target.earlier_bytes = 6'500'000'000;
  target.earlier_removal_ns = 5'670'000'000;
  EXPECT_THAT(run_report(run, TableFormat::kText),
              HasSubstr("An earlier run of this name was removed from /mnt/nvme0 on node1 first: 520 files "
                        "(6.50 GB) in 5.67 s.\n"));
}

TEST(RunTables, SayWhatTheTensorsHoldWhereItIsNotTheDefault) {
  RunResult run = testing::example_run();
  EXPECT_THAT(conditions(run), ::testing::Not(HasSubstr("Content:")));
  run.config.content_compressible_fraction = 0.25;
  EXPECT_THAT(conditions(run), HasSubstr("Content: random, 25 % compressible.\n"));
  run.config.content_kind = "weights";
  run.config.content_duplicate_fraction = 0.125;
  const std::string both = "Content: weights, 25 % compressible, 12.5 % of the 4 KiB blocks duplicates.\n";
  EXPECT_THAT(conditions(run), HasSubstr(both));
  EXPECT_THAT(plan_report(run.config, run.plan, TableFormat::kText), HasSubstr(both));
  EXPECT_THAT(dry_run_report(run, TableFormat::kText), HasSubstr(both));
  run.effective.backend = "null";
  EXPECT_THAT(conditions(run), HasSubstr(both));
  run.config.content_compressible_fraction = 0;
  run.config.content_duplicate_fraction = 0;
  EXPECT_THAT(conditions(run), HasSubstr("Content: weights, as compressible as they are.\n"));
}

TEST(RunTables, WarnsWhereNothingIsSynced) {
  RunResult run = testing::example_run();
  run.config.checkpoint.fsync = "off";
  EXPECT_THAT(conditions(run), HasSubstr("may be those of memory"));
}

TEST(RunTables, ClaimNoSyncWhereNothingIsWritten) {
  RunResult run = testing::example_run();
  run.effective.backend = "null";
  EXPECT_THAT(conditions(run), HasSubstr("no drive was measured"));
  EXPECT_THAT(conditions(run), ::testing::Not(HasSubstr("fsynced")));
}

TEST(PlanTables, RanksThatWriteTheSameAreOneRow) {
  RunPlan plan;
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    plan.ranks.push_back({.rank = rank,
                          .tensor = rank % 4,
                          .pipeline = rank / 4,
                          .data = 0,
                          .payload_bytes = rank < 4 ? 10U : 20U,
                          .file_bytes = 30,
                          .disk_bytes = 30,
                          .files = 2});
  }
  const Table table = rank_table(plan);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0][0], "0-3");
  EXPECT_EQ(table.rows[1][4], "20");
}

TEST(PlanTables, CapacitiesHoldTheDesignsCheckpointsAPass) {
  RunConfig config;
  RunPlan plan;
  plan.disk_bytes = 1'636'200'000'000;
  plan.file_bytes = plan.disk_bytes;
  std::map<std::string, std::string> count_by_capacity;
  for (const auto& row : capacity_table(config, plan).rows)
    count_by_capacity[row[0]] = row[1];
  EXPECT_EQ(count_by_capacity.at("6.40"), "3");
  EXPECT_EQ(count_by_capacity.at("7.68"), "4");
  EXPECT_EQ(count_by_capacity.at("12.80"), "6");
  EXPECT_EQ(count_by_capacity.at("15.36"), "8");
}

TEST(RunTables, AProfileSaysWhereEachRanksTimeWentAndAddsUp) {
  RunResult run = testing::example_run();
  EXPECT_TRUE(profile_table(run).rows.empty()) << "none was asked for";
  EXPECT_THAT(run_report(run, TableFormat::kText), ::testing::Not(HasSubstr("generate %")));
  for (PassResult& pass : run.passes) {
    for (CheckpointResult& checkpoint : pass.checkpoints) {
      for (RankSave& rank : checkpoint.save.ranks) {
        rank.phase_ns[static_cast<std::size_t>(Phase::kWrite)] = rank.duration_ns / 2;
        rank.phase_ns[static_cast<std::size_t>(Phase::kSync)] = rank.duration_ns / 2;
        rank.profile = RankProfile{.generation_ns = rank.duration_ns / 10,
                                   .crc_ns = rank.duration_ns / 20,
                                   .submission_ns = rank.duration_ns / 50,
                                   .wait_ns = rank.duration_ns / 5};
      }
    }
  }
  const Table table = profile_table(run);
  ASSERT_EQ(table.rows.size(), 3U) << "two ranks, and all";
  EXPECT_THAT(table.rows[0],
              ::testing::ElementsAre("0", "10.0", "5.0", "2.0", "20.0", "13.0", "0.0", "50.0", "0.0"));
  EXPECT_EQ(table.rows[2][0], "all");
  EXPECT_THAT(run_report(run, TableFormat::kText), HasSubstr("generate %"));
}

TEST(RunTables, SaysWhatContentWasMadeWithAndWhereProcessesMayRun) {
  const std::string text = run_report(testing::example_run(), TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("Content made with avx2; 24.0 MiB of buffers a rank, 100 % of them on huge "
                              "pages; node1: 1 process on processors 0-1 and memory node 0."));
}

TEST(RunTables, SaysInWordsWhatBoundedTheCheckpointsAndShowsWaitingForAProcessor) {
  RunResult run = testing::example_run();
  SaveResult& save = run.passes[1].checkpoints[0].save;
  save.bound = Bound::kHost;
  save.bound_words = "the host: ranks waited for a processor 25 % of their time";
  save.cpu_wait_share = 0.251;
  EXPECT_THAT(
      run_report(run, TableFormat::kText),
      HasSubstr(
          "Bound by: the drive: I/O was in flight for 100.0 % of the time in write, and fsync and close "
          "took 0 % (7 checkpoints); the host: ranks waited for a processor 25 % of their time (1 "
          "checkpoint).\n"));
  const Table table = checkpoint_table(run);
  EXPECT_EQ(table.columns[11].heading, "cpu wait %");
  EXPECT_EQ(table.rows[2][11], "25.1");
  save.cpu_wait_share.reset();
  EXPECT_EQ(checkpoint_table(run).rows[2][11], "-") << "where the kernel does not count it";
}

}  // namespace
}  // namespace ckptsim::simulator
