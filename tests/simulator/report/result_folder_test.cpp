#include "simulator/report/result_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "simulator/report/result_json.h"
#include "storage/errors.h"
#include "tests/simulator/report/example_run.h"

namespace ckptsim::simulator {
namespace {

namespace fs = std::filesystem;

class ResultFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ckptsim-results-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    output_ = pattern;
  }
  void TearDown() override { fs::remove_all(output_); }

  static std::vector<std::string> lines_of(const fs::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
      lines.push_back(line);
    return lines;
  }

  fs::path output_;
};

TEST_F(ResultFolderTest, EachCheckpointIsInTheJournalWhenItsCallReturns) {
  const RunResult run = testing::example_run();
  ResultFolder folder(output_);
  folder.begin(run);
  EXPECT_EQ(folder.path().filename(), "example-20260102T030405Z");
  EXPECT_EQ(lines_of(folder.path() / "journal.jsonl").size(), 1U);
  PassResult pass = run.passes[0];
  pass.checkpoints.resize(1);
  folder.checkpoint(pass);
  EXPECT_EQ(lines_of(folder.path() / "journal.jsonl").size(), 2U);
  EXPECT_FALSE(fs::exists(folder.path() / "result.json"));
  folder.end(run);
  EXPECT_TRUE(fs::exists(folder.path() / "result.json"));
  EXPECT_EQ(lines_of(folder.path() / "checkpoints.csv").size(), 9U);
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    EXPECT_NE(entry.path().extension(), ".tmp");
  }
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(ResultFolderTest, AnInterruptedRunHasTheResultOfWhatIsInItsJournal) {
  const RunResult run = testing::example_run();
  RunResult begun = run;
  begun.passes.clear();
  ResultFolder folder(output_);
  folder.begin(begun);
  PassResult pass = run.passes[0];
  folder.checkpoint({.pass = 1, .warmup = true, .checkpoints = {pass.checkpoints[0]}});
  folder.checkpoint(pass);
  pass = run.passes[1];
  pass.checkpoints.resize(1);
  folder.checkpoint(pass);
  EXPECT_TRUE(folder.interrupted("interrupted by SIGTERM"));

  RunResult expected = run;
  expected.status = "interrupted";
  expected.failure = "interrupted by SIGTERM";
  expected.passes = {run.passes[0], pass};
  EXPECT_EQ(text_of(folder.path() / "result.json"), result_json(expected));
  EXPECT_EQ(lines_of(folder.path() / "checkpoints.csv").size(), 4U);
}

TEST_F(ResultFolderTest, AnInterruptionThatComesTooEarlyOrTooLateLosesNothing) {
  const RunResult run = testing::example_run();
  ResultFolder early(output_);
  EXPECT_FALSE(early.interrupted("interrupted by SIGINT"));
  EXPECT_TRUE(fs::is_empty(output_));
  early.begin(run);
  EXPECT_TRUE(fs::exists(early.path() / "result.json"));

  ResultFolder late(output_);
  late.begin(run);
  late.end(run);
  EXPECT_FALSE(late.interrupted("interrupted by SIGINT"));
  EXPECT_EQ(text_of(late.path() / "result.json"), result_json(run));
}

TEST_F(ResultFolderTest, EachLoadIsALineOfTheJournalAndInAnInterruptedResult) {
  const RunResult run = testing::example_run_with_loads();
  ResultFolder folder(output_);
  folder.begin(run);
  PassResult pass = run.passes[3];
  for (CheckpointResult& checkpoint : pass.checkpoints)
    checkpoint.load.reset();
  PassResult first = pass;
  first.checkpoints.resize(1);
  folder.checkpoint(first);
  folder.checkpoint(pass);
  folder.load(3, false, 2, *run.passes[3].checkpoints[1].load);
  const std::vector<std::string> lines = lines_of(folder.path() / "journal.jsonl");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(
      lines[3].rfind(R"({"type":"load","pass":3,"warmup":false,"checkpoint":2,"load":{"duration_s":0.3,)", 0),
      0U)
      << lines[3];
  EXPECT_TRUE(folder.interrupted("interrupted by SIGTERM"));
  const std::string result = text_of(folder.path() / "result.json");
  EXPECT_NE(result.find("\"load_average_s\": 0.3,"), std::string::npos) << result;
}

TEST_F(ResultFolderTest, TwoRunsOfOneSecondHaveAFolderEach) {
  const RunResult run = testing::example_run();
  ResultFolder first(output_);
  ResultFolder second(output_);
  first.begin(run);
  second.begin(run);
  EXPECT_NE(first.path(), second.path());
  EXPECT_EQ(second.path().filename(), "example-20260102T030405Z-2");
}

TEST_F(ResultFolderTest, AnOutputThatIsAFileIsRefusedByName) {
  std::ofstream(output_ / "taken") << "x";
  ResultFolder folder(output_ / "taken");
  try {
    folder.begin(testing::example_run());
    FAIL() << "a file is no folder";
  } catch (const storage::UnsuitableTarget& error) {
    EXPECT_NE(std::string(error.what()).find("taken"), std::string::npos);
  }
}

TEST_F(ResultFolderTest, CsvPhasesAddUpToTheDuration) {
  const std::string csv = checkpoints_csv(testing::example_run());
  EXPECT_NE(csv.find("1,false,1,false,0.400000000,10.000000,3800000000,4000000000,1,"), std::string::npos)
      << csv;
}

TEST_F(ResultFolderTest, CsvSaysWhatWasRedoneAndHowLongRanksWaitedForAProcessor) {
  RunResult run = testing::example_run();
  CheckpointResult& checkpoint = run.passes[0].checkpoints[0];
  checkpoint.redone = true;
  checkpoint.save.cpu_wait_share = 0.25;
  run.passes[0].checkpoints[1].save.cpu_wait_share.reset();
  const std::string csv = checkpoints_csv(run);
  EXPECT_EQ(csv.rfind("pass,warmup,checkpoint,redone,duration_s,throughput_gb_per_s,payload_bytes,file_bytes,"
                      "straggler_rank,skew,idle_share,cpu_wait_share,bound_by,create_s,",
                      0),
            0U)
      << csv;
  EXPECT_NE(csv.find("\n1,true,1,true,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",0.250000,drive,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",0.000000,,drive,"), std::string::npos) << "unknown is empty: " << csv;
}

}  // namespace
}  // namespace ckptsim::simulator
