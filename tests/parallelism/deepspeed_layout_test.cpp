#include "parallelism/deepspeed_layout.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/models/llama.h"

namespace ckptsim::parallelism {
namespace {

using models::Dtype;
using models::Position;
using models::TrainingState;
using models::testing::tiny;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<CheckpointFile> files(const TrainingState& state, const Topology& topology, std::int64_t rank) {
  const RankCoordinates at = coordinates_of(topology, rank);
  return deepspeed_files(shards_of_rank(tiny(), topology, 1.0, at), state, topology, at);
}

std::vector<CheckpointFile> files(const std::string& recipe, const Topology& topology, std::int64_t rank) {
  return files(models::training_state(recipe), topology, rank);
}

std::vector<std::string> names(const std::vector<CheckpointFile>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const CheckpointFile& file : files) {
    names.push_back(file.name);
  }
  return names;
}

// "name dtype [shape]" of each tensor.
std::vector<std::string> tensors(const CheckpointFile& file) {
  std::vector<std::string> lines;
  lines.reserve(file.tensors.size());
  for (const FileTensor& tensor : file.tensors) {
    lines.push_back(fmt::format("{} {} {}", tensor.name, models::name(tensor.dtype),
                                ::testing::PrintToString(tensor.shape)));
  }
  return lines;
}

TEST(DeepspeedLayout, ARankWritesLayersThenModelThenOptimizer) {
  // TP 2, PP 3: rank 3 is tp 1 of the middle stage, which holds layers 2 and 3.
  EXPECT_THAT(names(files("adam8bit", {2, 3, 1, 0}, 3)),
              ElementsAre("layer_002-model_01-model_states.pt", "layer_003-model_01-model_states.pt",
                          "mp_rank_03_model_states.pt", "zero_pp_rank_0_mp_rank_03_optim_states.pt"));
}

TEST(DeepspeedLayout, NumbersWidenWhereTheyOutgrowTheirPadding) {
  const Topology topology{1, 1001, 11, 1};
  const RankCoordinates at{.rank = 11010, .tensor = 0, .pipeline = 1000, .data = 10, .model_parallel = 1000};
  const std::vector<Shard> shards{{"weight", {Position::Kind::kLayer, 1000}, {4}}};
  const RankCoordinates first_data{
      .rank = 1000, .tensor = 0, .pipeline = 1000, .data = 0, .model_parallel = 1000};
  const TrainingState& state = models::training_state("adam8bit");
  EXPECT_THAT(names(deepspeed_files(shards, state, topology, at)),
              ElementsAre("zero_pp_rank_10_mp_rank_1000_optim_states.pt"));
  EXPECT_THAT(names(deepspeed_files(shards, state, topology, first_data)),
              ElementsAre("layer_1000-model_00-model_states.pt", "mp_rank_1000_model_states.pt",
                          "zero_pp_rank_0_mp_rank_1000_optim_states.pt"));
}

TEST(DeepspeedLayout, ALayerFileHoldsItsSixWeights) {
  const std::vector<CheckpointFile> written = files("weights-only", {2, 3, 1, 0}, 3);
  EXPECT_FALSE(written[0].run_state);
  EXPECT_THAT(tensors(written[0]),
              ElementsAre("decoder.layers.2.input_layernorm.weight bf16 { 8 }",
                          "decoder.layers.2.self_attention.linear_qkv.weight bf16 { 8, 8 }",
                          "decoder.layers.2.self_attention.linear_proj.weight bf16 { 8, 4 }",
                          "decoder.layers.2.pre_mlp_layernorm.weight bf16 { 8 }",
                          "decoder.layers.2.mlp.linear_fc1.weight bf16 { 12, 8 }",
                          "decoder.layers.2.mlp.linear_fc2.weight bf16 { 8, 6 }"));
}

TEST(DeepspeedLayout, TheModelFileHoldsTheEndsOfTheModelAndTheRunState) {
  const auto model_file = [](std::int64_t rank) { return files("weights-only", {2, 3, 1, 0}, rank).back(); };
  EXPECT_THAT(tensors(model_file(0)), ElementsAre("embedding.word_embeddings.weight bf16 { 10, 8 }"));
  EXPECT_THAT(tensors(model_file(2)), IsEmpty());
  EXPECT_THAT(tensors(model_file(4)),
              ElementsAre("decoder.final_layernorm.weight bf16 { 8 }", "output_layer.weight bf16 { 10, 8 }"));
  for (const std::int64_t rank : {0, 2, 4}) {
    EXPECT_TRUE(model_file(rank).run_state) << rank;
  }
}

TEST(DeepspeedLayout, OptimizerTensorsAreShapedAsTheShardAndScalesAreFlat) {
  const CheckpointFile optimizer = files("adam8bit", {2, 1, 1, 0}, 0).back();
  EXPECT_FALSE(optimizer.run_state);
  const std::vector<std::string> lines = tensors(optimizer);
  ASSERT_EQ(lines.size(), 33U * 4U + 2U);
  EXPECT_THAT(std::vector(lines.begin(), lines.begin() + 5),
              ElementsAre("embedding.word_embeddings.weight.state1 uint8 { 10, 8 }",
                          "embedding.word_embeddings.weight.state2 uint8 { 10, 8 }",
                          "embedding.word_embeddings.weight.absmax1 fp32 { 1 }",
                          "embedding.word_embeddings.weight.absmax2 fp32 { 1 }",
                          "decoder.layers.0.input_layernorm.weight.state1 uint8 { 8 }"));
  EXPECT_THAT(std::vector(lines.end() - 2, lines.end()),
              ElementsAre("qmap1 fp32 { 256 }", "qmap2 fp32 { 256 }"));
}

TEST(DeepspeedLayout, ScalesCountStartedBlocksOf256) {
  const std::vector<Shard> shards{{"exact", {Position::Kind::kLast, 0}, {2, 256}},
                                  {"over", {Position::Kind::kLast, 0}, {513}}};
  const Topology whole{1, 1, 1, 0};
  const CheckpointFile file =
      deepspeed_files(shards, models::training_state("adam8bit"), whole, coordinates_of(whole, 0)).back();
  EXPECT_THAT(file.tensors[2].shape, ElementsAre(2));
  EXPECT_THAT(file.tensors[6].shape, ElementsAre(3));
}

TEST(DeepspeedLayout, ZeroStage0LeavesAllToTheFirstDataRank) {
  EXPECT_EQ(names(files("adam-mixed", {1, 1, 2, 0}, 0)), names(files("adam-mixed", {1, 1, 1, 0}, 0)));
  EXPECT_EQ(tensors(files("adam-mixed", {1, 1, 2, 0}, 0).back()),
            tensors(files("adam-mixed", {1, 1, 1, 0}, 0).back()));
  EXPECT_THAT(files("adam-mixed", {1, 1, 2, 0}, 1), IsEmpty());
}

TEST(DeepspeedLayout, ZeroStage1SlicesTheOptimizerOnly) {
  const Topology topology{1, 1, 3, 1};
  EXPECT_THAT(files("adam-mixed", topology, 0).size(), 5U + 1U + 1U);
  EXPECT_THAT(tensors(files("adam-mixed", topology, 0).front())[1],
              "decoder.layers.0.self_attention.linear_qkv.weight bf16 { 16, 8 }");

  const std::vector<CheckpointFile> last = files("adam-mixed", topology, 2);
  EXPECT_THAT(names(last), ElementsAre("zero_pp_rank_2_mp_rank_00_optim_states.pt"));
  const std::vector<std::string> lines = tensors(last.front());
  EXPECT_THAT(std::vector(lines.begin(), lines.begin() + 4),
              ElementsAre("embedding.word_embeddings.weight.master fp32 { 54 }",  // 160 / 3, up
                          "embedding.word_embeddings.weight.exp_avg fp32 { 54 }",
                          "embedding.word_embeddings.weight.exp_avg_sq fp32 { 54 }",
                          "decoder.layers.0.input_layernorm.weight.master fp32 { 3 }"));
}

TEST(DeepspeedLayout, ZeroStage3SlicesWeightsIntoOneFileARank) {
  const Topology topology{2, 1, 3, 3};
  for (std::int64_t rank = 0; rank < topology.ranks(); ++rank) {
    const std::vector<CheckpointFile> written = files("adam8bit", topology, rank);
    const std::string prefix = fmt::format("zero_pp_rank_{}_mp_rank_0{}_", rank / 2, rank % 2);
    ASSERT_THAT(names(written), ElementsAre(prefix + "model_states.pt", prefix + "optim_states.pt"));
    EXPECT_TRUE(written[0].run_state);
    EXPECT_EQ(written[0].tensors.size(), 33U);
    EXPECT_EQ(tensors(written[0])[0], "embedding.word_embeddings.weight bf16 { 27 }");  // 80 / 3, up
    EXPECT_EQ(tensors(written[1])[0], "embedding.word_embeddings.weight.state1 uint8 { 27 }");
  }
}

TEST(DeepspeedLayout, WeightsOnlyHasNoOptimizerFile) {
  EXPECT_THAT(names(files("weights-only", {1, 5, 1, 1}, 0)),
              ElementsAre("layer_000-model_00-model_states.pt", "mp_rank_00_model_states.pt"));
  EXPECT_THAT(files("weights-only", {1, 1, 2, 1}, 1), IsEmpty());
  EXPECT_THAT(names(files("weights-only", {1, 1, 2, 3}, 1)),
              ElementsAre("zero_pp_rank_1_mp_rank_00_model_states.pt"));
}

TEST(DeepspeedLayout, AFileThatWouldHoldOneEntryGetsTheRunState) {
  const TrainingState one_tensor{"momentum", Dtype::kBFloat16, {{"momentum", Dtype::kFloat32, 1}}, {}};
  const std::vector<Shard> shards{{"only", {Position::Kind::kLayer, 0}, {4}}};
  const Topology whole{1, 1, 1, 0};
  const std::vector<CheckpointFile> written =
      deepspeed_files(shards, one_tensor, whole, coordinates_of(whole, 0));
  ASSERT_EQ(written.size(), 3U);
  for (const CheckpointFile& file : written) {
    EXPECT_TRUE(file.run_state) << file.name;
  }
}

}  // namespace
}  // namespace ckptsim::parallelism
