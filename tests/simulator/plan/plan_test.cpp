#include "simulator/plan/plan.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "storage/torch/archive_stream.h"
#include "storage/torch/pickle_writer.h"

namespace ckptsim::simulator {
namespace {

RunConfig shipped(const std::vector<std::string>& overrides = {}) {
  return load_run_config("llama3.1-405b-tp4pp2", overrides);
}

TEST(Plan, OfThePublishedCheckpoint) {
  const RunPlan plan = make_plan(shipped());
  EXPECT_EQ(plan.parameters, 405'853'388'800);
  EXPECT_EQ(plan.payload_bytes, 1'636'146'620'416U);
  EXPECT_EQ(plan.files, 520U);
  ASSERT_EQ(plan.ranks.size(), 8U);
  EXPECT_EQ(plan.ranks[0].payload_bytes, 204'518'294'528U);
  EXPECT_EQ(plan.ranks[7].payload_bytes, 204'518'360'576U);
}

TEST(Plan, ScaleShrinksBytesAndNotTheModelsParameters) {
  const RunPlan plan = make_plan(shipped({"scale=0.001"}));
  EXPECT_EQ(plan.parameters, 405'853'388'800);
  EXPECT_EQ(plan.payload_bytes, 1'636'751'584U);
}

TEST(Plan, TotalsAreTheSumsOfItsRanksAndFiles) {
  const RunConfig config = shipped({"scale=0.0001"});
  const RunPlan plan = make_plan(config);
  std::uint64_t payload = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t disk = 0;
  for (const RankPlan& rank : plan.ranks) {
    for (const FilePlan& file : file_plans(config, rank.rank)) {
      payload += file.payload_bytes;
      file_bytes += file.file_bytes;
      disk += (file.file_bytes + 4095) / 4096 * 4096;
      EXPECT_GT(file.file_bytes, file.payload_bytes);
    }
  }
  EXPECT_EQ(payload, plan.payload_bytes);
  EXPECT_EQ(file_bytes, plan.file_bytes);
  EXPECT_EQ(disk, plan.disk_bytes);
}

TEST(Plan, FileSizesDoNotDependOnTheIteration) {
  const RunConfig config = shipped({"scale=0.00001"});
  const storage::torch::ArchiveOptions options = archive_options(config);
  for (const std::uint64_t ordinal : {0ULL, 1ULL, 999'999ULL, 1'999'999ULL}) {
    const auto specs = file_specs(config, 3, iteration_of(ordinal));
    const auto plans = file_plans(config, 3);
    ASSERT_EQ(specs.size(), plans.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      EXPECT_EQ(storage::torch::archive_bytes(specs[i], options), plans[i].file_bytes) << ordinal;
    }
  }
}

TEST(Plan, FilesThatAreGivenAnotherIterationAreThoseOfThatIteration) {
  const RunConfig config = shipped({"scale=0.0001"});
  const auto text_of = [](const std::vector<storage::torch::FileSpec>& specs) {
    std::string text;
    for (const storage::torch::FileSpec& spec : specs)
      text += storage::torch::write_pickle(spec);
    return text;
  };
  for (const std::int64_t rank : {0, 6}) {
    std::vector<storage::torch::FileSpec> specs = file_specs(config, rank, iteration_of(0));
    const std::string before = text_of(specs);
    set_iteration(specs, rank, iteration_of(7));
    EXPECT_EQ(text_of(specs), text_of(file_specs(config, rank, iteration_of(7))));
    EXPECT_NE(text_of(specs), before);
  }
}

TEST(Plan, RunStateIsIntegersAndStringsAndNoDictHasOneEntry) {
  for (const char* state : {"adam8bit", "adam-mixed", "weights-only"}) {
    const RunConfig config = shipped({"scale=0.00001", std::string("training_state=") + state});
    for (std::int64_t rank = 0; rank < 8; ++rank) {
      for (const storage::torch::FileSpec& spec : file_specs(config, rank, iteration_of(0))) {
        EXPECT_NE(spec.entries.size(), 1U) << spec.name;
        EXPECT_GT(spec.entries.size(), 0U) << spec.name;
      }
    }
  }
}

// Ranks that look alike are worked out once; here each is worked out by itself.
TEST(Plan, RanksPlannedTogetherAreWhatEachIsAlone) {
  for (const char* zero : {"0", "1", "3"}) {
    const RunConfig config = load_run_config(
        "llama3.1-8b-tp1pp1", {"parallelism.tensor=16", "parallelism.pipeline=7", "parallelism.data=11",
                               "scale=0.001", std::string("parallelism.zero_stage=") + zero});
    for (const RankPlan& rank : make_plan(config).ranks) {
      std::uint64_t payload = 0;
      std::uint64_t file_bytes = 0;
      const std::vector<FilePlan> files = file_plans(config, rank.rank);
      for (const FilePlan& file : files) {
        payload += file.payload_bytes;
        file_bytes += file.file_bytes;
      }
      ASSERT_EQ(rank.payload_bytes, payload) << rank.rank;
      ASSERT_EQ(rank.file_bytes, file_bytes) << rank.rank;
      ASSERT_EQ(rank.files, files.size()) << rank.rank;
    }
  }
}

TEST(Plan, NoWarmUpPassSharesItsContentWithAMeasuredOne) {
  std::set<std::uint64_t> seen;
  for (const bool warmup : {false, true}) {
    for (std::int64_t pass = 1; pass <= 1000; ++pass)
      EXPECT_TRUE(seen.insert(content_pass(pass, warmup)).second);
  }
}

TEST(Plan, AutoDialectIsTheCurrentOne) {
  EXPECT_EQ(effective_dialect(shipped()), "current");
  EXPECT_EQ(effective_dialect(shipped({"storage.serializer=libtorch"})), "1.13") << "its own release's";
  EXPECT_EQ(archive_options(shipped({"storage.torch_dialect=1.13"})).dialect,
            storage::torch::Dialect::kTorch113);
}

TEST(Plan, ATensorParallelismThatDoesNotDivideIsAConfigError) {
  EXPECT_THROW((void)make_plan(shipped({"parallelism.tensor=5"})), ConfigError);
}

}  // namespace
}  // namespace ckptsim::simulator
