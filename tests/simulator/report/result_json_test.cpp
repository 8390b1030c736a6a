#include "simulator/report/result_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/simulator/report/example_run.h"

namespace ckptsim::simulator {
namespace {

using nlohmann::json;

TEST(ResultJson, HoldsTheDesignsFields) {
  const json result = json::parse(result_json(testing::example_run()));
  EXPECT_EQ(result.at("schema"), "ckptsim.result/1");
  EXPECT_EQ(result.at("status"), "complete");
  EXPECT_EQ(result.at("tool").at("name"), "ckptsim");
  EXPECT_EQ(result.at("flags").at("scaled"), true);
  ASSERT_EQ(result.at("passes").size(), 4U);
  const json& pass = result.at("passes")[1];
  EXPECT_DOUBLE_EQ(pass.at("save_average_s"), 0.45);
  const json& save = pass.at("checkpoints")[0].at("save");
  EXPECT_EQ(save.at("duration_ns"), 400'000'000);
  EXPECT_DOUBLE_EQ(save.at("throughput_gb_per_s"), 10);
  EXPECT_EQ(save.at("straggler_rank"), 1);
  EXPECT_EQ(save.at("ranks")[1].at("phases").at("write_ns"), 400'000'000);
  EXPECT_FALSE(result.contains("failure"));
  const json& engine = pass.at("checkpoints")[0].at("engine");
  EXPECT_EQ(engine.at("start_ns"), 1'000'000);
  EXPECT_EQ(engine.at("finish_ns"), 200'000);
  EXPECT_EQ(engine.at("journal_ns"), 3'000'000);
}

TEST(ResultJson, ADeviationThatDoesNotExistIsNullAndNothingIsNaN) {
  RunResult run = testing::example_run();
  for (PassResult& pass : run.passes) {
    pass.checkpoints.resize(1);
    summarise_pass(pass);
  }
  const std::string text = result_json(run);
  EXPECT_TRUE(json::parse(text).at("passes")[0].at("save_stdev_s").is_null());
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

TEST(ResultJson, ALoadStandsBesideItsSaveAndItsAverageInThePass) {
  RunResult run = testing::example_run_with_loads();
  const json result = json::parse(result_json(run));
  const json& pass = result.at("passes")[3];
  EXPECT_DOUBLE_EQ(pass.at("load_average_s"), 0.25);
  EXPECT_DOUBLE_EQ(pass.at("load_min_s"), 0.2);
  EXPECT_DOUBLE_EQ(pass.at("load_max_s"), 0.3);
  EXPECT_DOUBLE_EQ(pass.at("load_throughput_gb_per_s"), 16);
  const json& load = pass.at("checkpoints")[0].at("load");
  EXPECT_EQ(load.at("duration_ns"), 200'000'000);
  EXPECT_EQ(load.at("straggler_rank"), 1);
  EXPECT_EQ(load.at("ranks")[1].at("phases").at("metadata_ns"), 20'000'000);
  EXPECT_EQ(load.at("ranks")[1].at("read_rank"), 1);
  EXPECT_TRUE(result.at("passes")[1].at("load_average_s").is_null());
  EXPECT_TRUE(result.at("passes")[1].at("checkpoints")[0].at("load").is_null());
  EXPECT_EQ(result.at("flags").at("load_from_cache"), false);
  run.passes[3].checkpoints[0].load->from_cache = true;
  EXPECT_EQ(json::parse(result_json(run)).at("flags").at("load_from_cache"), true);
}

TEST(ResultJson, AFailedRunKeepsItsCheckpointsAndSaysWhy) {
  RunResult run = testing::example_run();
  run.status = "failed";
  run.failure = "rank 3 on node1: cannot write";
  run.passes.push_back({.pass = 4});  // begun, nothing finished
  const json result = json::parse(result_json(run));
  EXPECT_EQ(result.at("failure"), run.failure);
  EXPECT_EQ(result.at("passes").size(), 5U);
}

TEST(ResultJson, BytesThatAreNotUtf8DoNotCostTheResult) {
  RunResult run = testing::example_run();
  run.environment.targets[0].path = "/mnt/\xff\xfe";
  run.command = "ckptsim \xc3\x28";
  EXPECT_TRUE(json::accept(result_json(run)));
  EXPECT_TRUE(json::accept(journal_header(run)));
}

TEST(Journal, AHeaderAndCheckpointsAreALineEach) {
  const RunResult run = testing::example_run();
  const std::string header = journal_header(run);
  EXPECT_EQ(header.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(header).at("config").at("name"), "example");
  const std::string line = journal_checkpoint(run.passes[1].checkpoints[1]);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const json checkpoint = json::parse(line);
  EXPECT_EQ(checkpoint.at("type"), "checkpoint");
  EXPECT_EQ(checkpoint.at("checkpoint"), 2);
  CheckpointResult unkept = run.passes[1].checkpoints[1];
  unkept.engine.journal_ns.reset();
  EXPECT_TRUE(json::parse(journal_checkpoint(unkept)).at("engine").at("journal_ns").is_null())
      << "a line does not know how long it takes";
  EXPECT_EQ(checkpoint.at("save"),
            json::parse(result_json(run)).at("passes")[1].at("checkpoints")[1].at("save"));
}

}  // namespace
}  // namespace ckptsim::simulator
