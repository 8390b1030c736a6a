#include "simulator/report/result_reader.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "simulator/report/result_json.h"
#include "storage/errors.h"
#include "tests/simulator/report/example_run.h"

namespace ckptsim::simulator {
namespace {

using nlohmann::json;

// Every member of a result has a value of its own, as far as the schema lets it.
RunResult full_run() {
  RunResult run = testing::example_run_with_loads();
  run.version = "7.8.9";
  run.status = "failed";
  run.failure = "rank 3 on node1: cannot write";
  run.effective.registered_reason = "the limit";
  run.effective.torch_dialect = "current";
  run.effective.checkpoints_reason = "as asked";
  run.effective.libtorch_version = "1.13.1";
  run.effective.huge_page_share = 0.123456789012345;
  run.environment.targets[0].capacity_bytes = 1'000'000'000'001;
  run.environment.targets[0].earlier_files_removed = 12;
  run.environment.targets[0].earlier_removal_ns = 34;
  run.plan.parameters = 405'853'388'800;
  run.resumes = {{"2026-01-02T04:04:05Z", 2, false, 1, 2, {"node1", "node2"}}};
  run.passes[2].delete_ns = 5;
  run.passes[2].trim_ns = 6;
  CheckpointResult& checkpoint = run.passes[2].checkpoints[0];
  checkpoint.redone = true;
  checkpoint.pause_ns = 9;
  checkpoint.save.bound = Bound::kOneRank;
  checkpoint.save.cpu_wait_share = 0.25;
  std::int64_t number = 100;
  for (RankSave& rank : checkpoint.save.ranks) {
    rank.profile = RankProfile{number + 1, number + 2, number + 3, number + 4};
    rank.cpu_wait_ns = -1;
    for (std::int64_t& phase_ns : rank.phase_ns)
      phase_ns = ++number;
    rank.latency_p50_ns = ++number;
    rank.latency_p99_ns = ++number;
    rank.latency_p999_ns = ++number;
    rank.latency_max_ns = ++number;
  }
  summarise_pass(run.passes[2]);
  run.passes.push_back({.pass = 4});
  // The writer takes these from the configuration.
  for (std::size_t i = 0; i < run.plan.ranks.size(); ++i)
    run.plan.ranks[i].rank = static_cast<std::int64_t>(i);
  return run;
}

TEST(ResultReader, WhatIsReadIsWrittenAgainToTheByte) {
  const std::string text = result_json(full_run());
  EXPECT_EQ(result_json(read_result(text, "result.json")), text);
}

TEST(ResultReader, EveryChangeOfAFigureIsSeen) {
  // The round trip proves nothing of a member that the reader leaves at its default and the writer, too.
  const json original = json::parse(result_json(full_run()));
  std::size_t changed = 0;
  const std::function<void(json&, json&)> visit = [&](json& node, json& root) {
    if (node.is_structured()) {
      for (json& member : node)
        visit(member, root);
      return;
    }
    if (!node.is_number_integer() || node.get<std::int64_t>() < 1) return;
    const json before = node;
    node = node.get<std::int64_t>() + 1;
    try {
      const json again = json::parse(result_json(read_result(root.dump(), "x")));
      if (again != original)
        ++changed;
      else
        ADD_FAILURE() << "a change from " << before << " is lost";
    } catch (const storage::FormatError&) {
      ++changed;
    }
    node = before;
  };
  json copy = original;
  for (const char* part : {"environment", "plan"})
    visit(copy.at(part), copy);
  const auto checkpoint = [&](std::size_t pass) -> json& {
    return copy.at("passes").at(pass).at("checkpoints").at(0);
  };
  visit(checkpoint(2).at("save").at("ranks"), copy);
  visit(checkpoint(2).at("engine"), copy);
  ASSERT_TRUE(checkpoint(3).at("load").is_object());
  visit(checkpoint(3).at("load"), copy);
  visit(copy.at("resumes"), copy);
  EXPECT_GT(changed, 50U);
}

void expect_refused(const std::string& text, const std::string& word) {
  try {
    (void)read_result(text, "r.json");
    FAIL() << "taken: " << text.substr(0, 80);
  } catch (const storage::FormatError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("r.json", 0), 0U) << error.what();
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(ResultReader, WhatIsNoResultIsRefusedWithItsPlace) {
  const json good = json::parse(result_json(full_run()));
  expect_refused("", "JSON");
  expect_refused("[]", "");
  expect_refused(std::string(100000, '['), "nested");
  expect_refused("{\"a\":1e999}", "number");
  const auto with = [&](const char* pointer, const json& value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    return changed.dump();
  };
  expect_refused(with("/schema", "ckptsim.result/2"), "schema");
  expect_refused(with("/surprise", 1), "surprise");
  expect_refused(with("/passes/0/pass", 0), "pass");
  expect_refused(with("/passes/1/checkpoints/0/save/duration_ns", -1), "duration_ns");
  expect_refused(with("/passes/1/checkpoints/0/save/duration_ns", 18446744073709551615U), "duration_ns");
  expect_refused(with("/environment/processes", 4294967296), "processes");
  expect_refused(with("/config/checkpoint/passes", 0), "passes");
  expect_refused(with("/config/unknown", 0), "unknown");
  json deep = 1;
  for (int i = 0; i < 40; ++i)
    deep = json::array({deep});
  expect_refused(with("/config/model", deep), "nested");
}

std::string journal_of(const RunResult& run) {
  std::string text = journal_header(run) + "\n" + journal_removal(run.environment) + "\n";
  for (const PassResult& pass : run.passes) {
    if (pass.delete_ns > 0) text += journal_pass(pass) + "\n";
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      CheckpointResult saved = checkpoint;
      saved.load.reset();
      text += journal_checkpoint(saved) + "\n";
      if (checkpoint.load.has_value()) {
        text += journal_load(pass.pass, pass.warmup, checkpoint.checkpoint, *checkpoint.load) + "\n";
      }
    }
  }
  for (const ResumeRecord& resume : run.resumes)
    text += journal_resume(resume) + "\n";
  return text;
}

RunResult journaled_run() {
  RunResult run = full_run();
  run.config.checkpoint.warmup_passes = 1;
  run.passes.pop_back();  // the journal knows of a pass with its first checkpoint
  return run;
}

TEST(JournalReader, HoldsWhatTheResultHolds) {
  RunResult run = journaled_run();
  JournalContents contents = read_journal(journal_of(run), "j");
  contents.run.plan = run.plan;
  contents.run.status = run.status;
  contents.run.failure = run.failure;
  EXPECT_EQ(result_json(contents.run), result_json(run));
}

TEST(JournalReader, ATornLastLineIsLeftOutWhereverItIsTorn) {
  const RunResult run = journaled_run();
  const std::string whole =
      journal_header(run) + "\n" + journal_checkpoint(run.passes[0].checkpoints[0]) + "\n";
  const std::string line = journal_checkpoint(run.passes[0].checkpoints[1]) + "\n";
  for (std::size_t length = 0; length < line.size(); length += 97)
    EXPECT_EQ(read_journal(whole + line.substr(0, length), "j").whole_bytes, whole.size());
  EXPECT_EQ(read_journal(whole + line.substr(0, line.size() - 1), "j").whole_bytes, whole.size());
  EXPECT_EQ(read_journal(whole + std::string(50, '\0') + "\n", "j").whole_bytes, whole.size());
  EXPECT_EQ(read_journal(whole + line, "j").whole_bytes, whole.size() + line.size());
}

TEST(JournalReader, LinesStandInTheirOrderOrAreRefusedByNumber) {
  const RunResult run = journaled_run();
  const std::string header = journal_header(run) + "\n";
  const auto line = [&](std::size_t pass, std::size_t checkpoint) {
    return journal_checkpoint(run.passes[pass].checkpoints[checkpoint]) + "\n";
  };
  const auto refused = [](const std::string& text, const std::string& word) {
    try {
      (void)read_journal(text, "j");
      ADD_FAILURE() << "taken, without " << word;
    } catch (const storage::FormatError& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  refused("", "first line");
  refused(header.substr(0, 100), "first line");
  refused(line(0, 0), "line 1");
  refused(header + line(0, 1), "line 2");
  refused(header + line(0, 0) + line(0, 0), "line 3");
  refused(header + line(0, 0) + "x\n" + line(0, 1), "line 3");
  refused(header + "{\"type\":\"news\"}\n", "line 2");
  refused(header + "5\n", "line 2");
  refused(journal_of(run) + line(0, 0), "more checkpoints");
  const std::string load = journal_load(1, true, 2, *run.passes[3].checkpoints[0].load) + "\n";
  refused(header + line(0, 0) + load, "read back");
  CheckpointResult with_load = run.passes[0].checkpoints[0];
  with_load.load = run.passes[3].checkpoints[0].load;
  refused(header + journal_checkpoint(with_load) + "\n", "line of its own");
}

}  // namespace
}  // namespace ckptsim::simulator
