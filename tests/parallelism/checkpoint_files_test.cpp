#include "parallelism/checkpoint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include "tests/models/config_error_matcher.h"
#include "tests/models/llama.h"

namespace ckptsim::parallelism {
namespace {

using ::ckptsim::testing::throws_config_error;
using models::Dtype;
using models::testing::llama_405b;
using models::testing::tiny;
using ::testing::Each;
using ::testing::ElementsAreArray;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

struct Totals {
  std::vector<std::int64_t> rank_bytes;
  std::int64_t bytes = 0;
  std::int64_t files = 0;
};

Totals totals_of(const models::Transformer& model, const std::string& recipe, const Topology& topology,
                 double scale) {
  Totals totals;
  for (std::int64_t rank = 0; rank < topology.ranks(); ++rank) {
    totals.rank_bytes.push_back(0);
    for (const CheckpointFile& file :
         files_of_rank(model, models::training_state(recipe), topology, "deepspeed", scale, rank)) {
      totals.rank_bytes.back() += payload_bytes(file);
      ++totals.files;
    }
    totals.bytes += totals.rank_bytes.back();
  }
  return totals;
}

TEST(CheckpointFiles, Llama405bAdam8bitOnTp4Pp2HasTheSizesOfTheReferenceCase) {
  const Totals totals = totals_of(llama_405b(), "adam8bit", {4, 2, 1, 0}, 1.0);
  EXPECT_EQ(totals.files, 520);
  EXPECT_EQ(totals.bytes, 1'636'146'620'416);
  const std::int64_t first_stage = 204'518'294'528;
  const std::int64_t last_stage = 204'518'360'576;
  EXPECT_THAT(totals.rank_bytes, ElementsAreArray({first_stage, first_stage, first_stage, first_stage,
                                                   last_stage, last_stage, last_stage, last_stage}));
}

TEST(CheckpointFiles, Llama405bScaledKeepsItsFiles) {
  const Totals thousandth = totals_of(llama_405b(), "adam8bit", {4, 2, 1, 0}, 0.001);
  EXPECT_EQ(thousandth.files, 520);
  EXPECT_EQ(thousandth.bytes, 1'636'751'584);
  EXPECT_EQ(totals_of(llama_405b(), "adam8bit", {4, 2, 1, 0}, 0.0003).bytes, 491'560'560);
}

TEST(CheckpointFiles, NoTwoFilesOfACheckpointShareAName) {
  for (const std::int64_t zero_stage : {0, 1, 3}) {
    const Topology topology{4, 3, 3, zero_stage};
    std::set<std::string> names;
    std::size_t files = 0;
    for (std::int64_t rank = 0; rank < topology.ranks(); ++rank) {
      for (const CheckpointFile& file :
           files_of_rank(tiny(), models::training_state("adam8bit"), topology, "deepspeed", 1.0, rank)) {
        names.insert(file.name);
        ++files;
      }
    }
    EXPECT_EQ(names.size(), files) << "ZeRO " << zero_stage;
  }
}

TEST(CheckpointFiles, NoFileHoldsExactlyOneEntryOrATensorTwice) {
  for (const std::int64_t zero_stage : {0, 1, 3}) {
    for (const char* recipe : {"adam8bit", "adam-mixed", "weights-only"}) {
      const Topology topology{2, 5, 2, zero_stage};
      for (std::int64_t rank = 0; rank < topology.ranks(); ++rank) {
        for (const CheckpointFile& file :
             files_of_rank(tiny(), models::training_state(recipe), topology, "deepspeed", 1.0, rank)) {
          std::set<std::string> names;
          for (const FileTensor& tensor : file.tensors) {
            names.insert(tensor.name);
          }
          EXPECT_EQ(names.size(), file.tensors.size()) << file.name;
          EXPECT_TRUE(file.run_state || file.tensors.size() >= 2) << file.name;
        }
      }
    }
  }
}

TEST(CheckpointFiles, TheSmallestScaleStillHasAllTensorsOfOneElement) {
  for (const CheckpointFile& file :
       files_of_rank(tiny(), models::training_state("adam-mixed"), {2, 1, 2, 3}, "deepspeed", 1e-9, 3)) {
    EXPECT_FALSE(file.tensors.empty());
    for (const FileTensor& tensor : file.tensors) {
      EXPECT_THAT(tensor.shape, Each(1)) << tensor.name;
    }
  }
}

TEST(CheckpointFiles, RefusesAnUnknownLayoutWithTheKnownOnes) {
  EXPECT_THAT(
      [] {
        return files_of_rank(tiny(), models::training_state("adam8bit"), {1, 1, 1, 0}, "megatron", 1.0, 0);
      },
      throws_config_error("/checkpoint/layout", "'megatron' is unknown; choose one of: deepspeed"));
}

TEST(CheckpointFiles, RefusesATopologyThatDoesNotFitBeforeItShards) {
  EXPECT_THAT(
      [] {
        return files_of_rank(tiny(), models::training_state("adam8bit"), {3, 1, 1, 0}, "deepspeed", 1.0, 0);
      },
      throws_config_error("/parallelism/tensor", "divisor"));
  EXPECT_THAT(
      [] {
        return files_of_rank(tiny(), models::training_state("adam8bit"), {1, 1, 1, 0}, "deepspeed", 0.0, 0);
      },
      throws_config_error("/scale", "above 0"));
}

TEST(CheckpointFilesDeathTest, ARankOutsideTheTopologyIsAMistakeOfTheProgram) {
  EXPECT_DEATH(static_cast<void>(files_of_rank(tiny(), models::training_state("adam8bit"), {1, 1, 1, 0},
                                               "deepspeed", 1.0, 1)),
               "rank");
}

TEST(PayloadBytes, AddsTensorsByTheirType) {
  EXPECT_EQ(payload_bytes({"empty", {}, true}), 0);
  EXPECT_EQ(payload_bytes(
                {"mixed",
                 {{"a", Dtype::kBFloat16, {3, 5}}, {"b", Dtype::kFloat32, {7}}, {"c", Dtype::kUInt8, {11}}},
                 false}),
            30 + 28 + 11);
}

TEST(PayloadBytes, RefusesToPassSixtyThreeBits) {
  EXPECT_EQ(payload_bytes({"full", {{"a", Dtype::kUInt8, {kLargest}}}, false}), kLargest);
  EXPECT_THAT(
      [] {
        return payload_bytes({"wide", {{"a", Dtype::kBFloat16, {kLargest}}}, false});
      },
      throws_config_error("/model", "2^63 - 1"));
  EXPECT_THAT(
      [] {
        return payload_bytes({"two", {{"a", Dtype::kUInt8, {kLargest}}, {"b", Dtype::kUInt8, {1}}}, false});
      },
      throws_config_error("/model", "2^63 - 1"));
}

}  // namespace
}  // namespace ckptsim::parallelism
