#include "parallelism/rank_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/models/llama.h"

namespace ckptsim::parallelism {
namespace {

using models::Position;
using models::testing::tiny;
using ::testing::ElementsAre;

std::vector<Shard> shards(const Topology& topology, std::int64_t rank, double scale = 1.0) {
  return shards_of_rank(tiny(), topology, scale, coordinates_of(topology, rank));
}

std::vector<std::string> names(const std::vector<Shard>& shards) {
  std::vector<std::string> names;
  names.reserve(shards.size());
  for (const Shard& shard : shards) {
    names.push_back(shard.name);
  }
  return names;
}

TEST(RankShards, FollowTheModelFromEmbeddingToOutput) {
  const std::vector<std::string> all = names(shards({1, 1, 1, 0}, 0));
  ASSERT_EQ(all.size(), 1U + 5U * 6U + 2U);
  EXPECT_EQ(all.front(), "embedding.word_embeddings.weight");
  EXPECT_EQ(all[1], "decoder.layers.0.input_layernorm.weight");
  EXPECT_EQ(all[30], "decoder.layers.4.mlp.linear_fc2.weight");
  EXPECT_EQ(all[31], "decoder.final_layernorm.weight");
  EXPECT_EQ(all[32], "output_layer.weight");
}

TEST(RankShards, AMiddleStageHoldsOnlyItsLayers) {
  const std::vector<Shard> middle = shards({1, 3, 1, 0}, 1);  // 2 + 2 + 1 layers
  ASSERT_EQ(middle.size(), 12U);
  for (const Shard& shard : middle) {
    EXPECT_EQ(shard.position.kind, Position::Kind::kLayer);
  }
  EXPECT_EQ(middle.front().position.layer, 2);
  EXPECT_EQ(middle.back().position.layer, 3);
}

TEST(RankShards, EveryParameterIsOnTensorManyRanksOfOneDataRank) {
  const Topology topology{2, 3, 2, 1};
  std::map<std::string, std::int64_t> holders;
  for (std::int64_t rank = 0; rank < topology.tensor * topology.pipeline; ++rank) {
    for (const std::string& name : names(shards(topology, rank))) {
      ++holders[name];
    }
  }
  EXPECT_EQ(holders.size(), 33U);
  for (const auto& [name, count] : holders) {
    EXPECT_EQ(count, 2) << name;
  }
}

TEST(RankShards, DataParallelRanksHoldTheSame) {
  const Topology topology{2, 3, 2, 1};
  EXPECT_EQ(names(shards(topology, 1)), names(shards(topology, 7)));
}

TEST(RankShards, AreCutAndScaled) {
  EXPECT_THAT(shards({4, 1, 1, 0}, 0).front().shape, ElementsAre(5, 8));
  EXPECT_THAT(shards({4, 1, 1, 0}, 0, 0.25).front().shape, ElementsAre(3, 4));
}

}  // namespace
}  // namespace ckptsim::parallelism
