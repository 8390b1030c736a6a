#include "parallelism/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

#include "tests/models/config_error_matcher.h"
#include "tests/models/llama.h"

namespace ckptsim::parallelism {
namespace {

using ::ckptsim::testing::throws_config_error;
using models::testing::llama_405b;
using models::testing::tiny;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

const auto kSmallTopologies = {Topology{1, 1, 1, 0}, Topology{4, 2, 1, 0}, Topology{2, 3, 4, 1},
                               Topology{1, 7, 2, 3}, Topology{5, 1, 3, 1}, Topology{8, 32, 2, 1}};

TEST(Topology, TensorVariesFastestThenPipelineThenData) {
  const RankCoordinates at = coordinates_of({4, 2, 3, 1}, 22);  // 22 = 2 + 4 (1 + 2 * 2)
  EXPECT_EQ(at.rank, 22);
  EXPECT_EQ(at.tensor, 2);
  EXPECT_EQ(at.pipeline, 1);
  EXPECT_EQ(at.data, 2);
  EXPECT_EQ(at.model_parallel, 6);
}

TEST(Topology, RanksAndCoordinatesAreOneToOne) {
  for (const Topology& topology : kSmallTopologies) {
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
    for (std::int64_t rank = 0; rank < topology.ranks(); ++rank) {
      const RankCoordinates at = coordinates_of(topology, rank);
      EXPECT_TRUE(at.tensor >= 0 && at.tensor < topology.tensor);
      EXPECT_TRUE(at.pipeline >= 0 && at.pipeline < topology.pipeline);
      EXPECT_TRUE(at.data >= 0 && at.data < topology.data);
      EXPECT_EQ(at.tensor + topology.tensor * (at.pipeline + topology.pipeline * at.data), rank);
      EXPECT_EQ(at.model_parallel, at.pipeline * topology.tensor + at.tensor);
      seen.emplace(at.tensor, at.pipeline, at.data);
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), topology.ranks());
  }
}

TEST(TopologyDeathTest, ARankOrStageOutsideTheTopologyIsAMistakeOfTheProgram) {
  EXPECT_DEATH(static_cast<void>(coordinates_of({4, 2, 1, 0}, 8)), "rank");
  EXPECT_DEATH(static_cast<void>(coordinates_of({4, 2, 1, 0}, -1)), "rank");
  EXPECT_DEATH(static_cast<void>(layers_of_stage(8, 2, 2)), "stage");
  EXPECT_DEATH(static_cast<void>(layers_of_stage(8, 2, -1)), "stage");
}

TEST(LayersOfStage, EveryLayerBelongsToExactlyOneStageInOrder) {
  for (std::int64_t layers = 1; layers <= 40; ++layers) {
    for (std::int64_t stages = 1; stages <= layers; ++stages) {
      std::int64_t next = 0;
      for (std::int64_t stage = 0; stage < stages; ++stage) {
        const LayerRange range = layers_of_stage(layers, stages, stage);
        ASSERT_EQ(range.first, next) << layers << " layers, stage " << stage << " of " << stages;
        next += range.count;
      }
      ASSERT_EQ(next, layers) << stages << " stages";
    }
  }
}

TEST(LayersOfStage, TheFirstStagesHoldOneMoreWhereStagesDoNotDivideLayers) {
  std::vector<std::int64_t> counts;
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    counts.push_back(layers_of_stage(126, 4, stage).count);
  }
  EXPECT_THAT(counts, ::testing::ElementsAre(32, 32, 31, 31));
}

TEST(CheckTopology, AcceptsWhatTheModelAllows) {
  EXPECT_NO_THROW(check({4, 2, 1, 0}, llama_405b()));
  EXPECT_NO_THROW(check({8, 126, 2, 3}, llama_405b()));
  EXPECT_NO_THROW(check({1, 1, std::int64_t{1} << 31, 1}, tiny()));
}

TEST(CheckTopology, RefusesSizesBelowOne) {
  EXPECT_THAT([] { check({0, 1, 1, 0}, tiny()); }, throws_config_error("/parallelism/tensor", "at least 1"));
  EXPECT_THAT([] { check({1, -2, 1, 0}, tiny()); }, throws_config_error("/parallelism/pipeline", "is -2"));
  EXPECT_THAT([] { check({1, 1, 0, 0}, tiny()); }, throws_config_error("/parallelism/data", "at least 1"));
}

TEST(CheckTopology, RefusesMoreThanTwoToThe31RanksNamingTheSizeThatPassesThem) {
  EXPECT_THAT([] { check({kHuge, 1, 1, 0}, tiny()); }, throws_config_error("/parallelism/tensor", "2^31"));
  EXPECT_THAT([] { check({4, kHuge, 1, 0}, tiny()); }, throws_config_error("/parallelism/pipeline", "2^31"));
  EXPECT_THAT([] { check({4, 5, kHuge, 0}, tiny()); }, throws_config_error("/parallelism/data", "2^31"));
  EXPECT_THAT(
      [] {
        check({4, 1, (std::int64_t{1} << 29) + 1, 0}, tiny());
      },
      throws_config_error("/parallelism/data", "2^31"));
}

TEST(CheckTopology, RefusesMoreStagesThanLayers) {
  EXPECT_NO_THROW(check({1, 5, 1, 0}, tiny()));
  EXPECT_THAT(
      [] {
        check({1, 6, 1, 0}, tiny());
      },
      throws_config_error("/parallelism/pipeline", "only 5 layers"));
}

TEST(CheckTopology, RefusesTensorParallelismThatDoesNotDivideACutDimension) {
  // Cut: 20 (embedding, output), 16 (qkv), 8 (proj), 24 (fc1), 12 (fc2); the message offers what divides them
  // all.
  EXPECT_THAT(
      [] {
        check({3, 1, 1, 0}, tiny());
      },
      throws_config_error("/parallelism/tensor",
                          "dimension 0 (20) of embedding.word_embeddings.weight; choose a divisor of 4"));
  EXPECT_THAT(
      [] {
        check({5, 1, 1, 0}, tiny());
      },
      throws_config_error("/parallelism/tensor",
                          "dimension 0 (16) of decoder.layers.0.self_attention.linear_qkv"));
  models::Transformer model = tiny();
  model.ffn_hidden_size = 6;  // 2F / 4 is whole, F / 4 is not
  EXPECT_THAT(
      [&] {
        check({4, 1, 1, 0}, model);
      },
      throws_config_error("/parallelism/tensor",
                          "dimension 1 (6) of decoder.layers.0.mlp.linear_fc2.weight"));
}

TEST(CheckTopology, RefusesZeroStagesOtherThanNoneOneAndThree) {
  for (const std::int64_t stage : {0, 1, 3}) {
    EXPECT_NO_THROW(check({1, 1, 2, stage}, tiny())) << stage;
  }
  for (const std::int64_t stage : {-1, 2, 4}) {
    EXPECT_THAT(
        [&] {
          check({1, 1, 2, stage}, tiny());
        },
        throws_config_error("/parallelism/zero_stage", "0 "));
  }
}

TEST(CheckTopology, BlamesTheModelForAModelNobodyCanShard) {
  models::Transformer model = tiny();
  model.layers = 0;
  EXPECT_THAT([&] { check({1, 1, 1, 0}, model); }, throws_config_error("/model", "layers"));
}

}  // namespace
}  // namespace ckptsim::parallelism
