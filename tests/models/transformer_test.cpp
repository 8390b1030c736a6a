#include "models/transformer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "tests/models/config_error_matcher.h"
#include "tests/models/llama.h"

namespace ckptsim::models {
namespace {

using ::ckptsim::testing::throws_config_error;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using testing::tiny;

constexpr Position kFirst{Position::Kind::kFirst, 0};
constexpr Position kLast{Position::Kind::kLast, 0};
constexpr Position kLayer3{Position::Kind::kLayer, 3};

using Row = std::tuple<std::string, std::vector<std::int64_t>, std::optional<std::size_t>>;

std::vector<Row> rows_at(const Transformer& model, const Position& position) {
  std::vector<Row> rows;
  for (const Parameter& parameter : parameters_at(model, position)) {
    EXPECT_EQ(parameter.position.kind, position.kind);
    EXPECT_EQ(parameter.position.layer, position.layer);
    rows.emplace_back(parameter.name, parameter.shape, parameter.cut);
  }
  return rows;
}

TEST(Transformer, NamesShapesAndCutsFollowMegatronCore) {
  EXPECT_THAT(rows_at(tiny(), kFirst),
              ElementsAre(FieldsAre("embedding.word_embeddings.weight", ElementsAre(20, 8), 0)));
  EXPECT_THAT(
      rows_at(tiny(), kLayer3),
      ElementsAre(FieldsAre("decoder.layers.3.input_layernorm.weight", ElementsAre(8), std::nullopt),
                  FieldsAre("decoder.layers.3.self_attention.linear_qkv.weight", ElementsAre(16, 8), 0),
                  FieldsAre("decoder.layers.3.self_attention.linear_proj.weight", ElementsAre(8, 8), 1),
                  FieldsAre("decoder.layers.3.pre_mlp_layernorm.weight", ElementsAre(8), std::nullopt),
                  FieldsAre("decoder.layers.3.mlp.linear_fc1.weight", ElementsAre(24, 8), 0),
                  FieldsAre("decoder.layers.3.mlp.linear_fc2.weight", ElementsAre(8, 12), 1)));
  EXPECT_THAT(rows_at(tiny(), kLast),
              ElementsAre(FieldsAre("decoder.final_layernorm.weight", ElementsAre(8), std::nullopt),
                          FieldsAre("output_layer.weight", ElementsAre(20, 8), 0)));
}

TEST(Transformer, CountsTheParametersOfLlama31) {
  EXPECT_EQ(parameter_count(testing::llama_8b()), 8'030'261'248);
  EXPECT_EQ(parameter_count(testing::llama_70b()), 70'553'706'496);
  EXPECT_EQ(parameter_count(testing::llama_405b()), 405'853'388'800);
}

TEST(Transformer, CountIsTheSumOverAllPositions) {
  std::int64_t sum = 0;
  const auto add = [&sum](const Position& position) {
    for (const Parameter& parameter : parameters_at(tiny(), position)) {
      std::int64_t elements = 1;
      for (const std::int64_t dimension : parameter.shape) {
        elements *= dimension;
      }
      sum += elements;
    }
  };
  add(kFirst);
  for (std::int64_t layer = 0; layer < tiny().layers; ++layer) {
    add({Position::Kind::kLayer, layer});
  }
  add(kLast);
  EXPECT_EQ(parameter_count(tiny()), sum);
}

TEST(Transformer, ShippedConfigurationsHoldThePublishedDimensions) {
  for (const Transformer& model : {testing::llama_8b(), testing::llama_70b(), testing::llama_405b()}) {
    std::ifstream file(std::string(CKPTSIM_SOURCE_DIR) + "/configs/models/" + model.name + ".json");
    const auto expected = nlohmann::json{{"name", model.name},
                                         {"layers", model.layers},
                                         {"hidden_size", model.hidden_size},
                                         {"ffn_hidden_size", model.ffn_hidden_size},
                                         {"attention_heads", model.attention_heads},
                                         {"kv_heads", model.kv_heads},
                                         {"vocabulary_size", model.vocabulary_size}};
    EXPECT_EQ(nlohmann::json::parse(file), expected) << model.name;
  }
}

struct BadDimension {
  std::int64_t Transformer::*dimension;
  std::int64_t value;
  std::string words;
};

TEST(Transformer, RefusesDimensionsNoModelCanHaveAtEveryPosition) {
  const std::vector<BadDimension> bad_dimensions{
      {&Transformer::layers, 0, "layers is 0"},
      {&Transformer::hidden_size, 0, "hidden_size is 0"},
      {&Transformer::ffn_hidden_size, -1, "ffn_hidden_size is -1"},
      {&Transformer::attention_heads, 0, "attention_heads is 0"},
      {&Transformer::kv_heads, 0, "kv_heads is 0"},
      {&Transformer::vocabulary_size, 0, "vocabulary_size is 0"},
      {&Transformer::attention_heads, 3, "divide hidden_size 8"},
      {&Transformer::kv_heads, 3, "divide 4 attention_heads"},
  };
  for (const BadDimension& bad : bad_dimensions) {
    Transformer model = tiny();
    model.*bad.dimension = bad.value;
    for (const Position& position : {kFirst, kLayer3, kLast}) {
      EXPECT_THAT([&] { return parameters_at(model, position); }, throws_config_error("/model", bad.words));
    }
    EXPECT_THAT([&] { return parameter_count(model); }, throws_config_error("/model", bad.words));
  }
}

TEST(Transformer, RefusesTensorsThatPassSixtyThreeBits) {
  Transformer model = tiny();
  model.vocabulary_size = std::int64_t{1} << 60;  // x 8 = 2^63
  EXPECT_THAT([&] { return parameters_at(model, kFirst); }, throws_config_error("/model", "2^63 - 1"));
  EXPECT_THAT([&] { return parameters_at(model, kLast); }, throws_config_error("/model", "2^63 - 1"));
  EXPECT_NO_THROW(static_cast<void>(parameters_at(model, kLayer3)));

  model = tiny();
  model.ffn_hidden_size = std::int64_t{1} << 62;  // 2F alone
  EXPECT_THAT([&] { return parameters_at(model, kLayer3); }, throws_config_error("/model", "2^63 - 1"));
}

TEST(Transformer, RefusesACountThatPassesSixtyThreeBitsThoughEveryTensorFits) {
  Transformer model = tiny();
  model.layers = std::int64_t{1} << 55;
  EXPECT_NO_THROW(static_cast<void>(parameters_at(model, kLayer3)));
  EXPECT_THAT([&] { return parameter_count(model); }, throws_config_error("/model", "2^63 - 1"));
}

TEST(TransformerDeathTest, ALayerOutsideTheModelIsAMistakeOfTheProgram) {
  EXPECT_DEATH(static_cast<void>(parameters_at(tiny(), {Position::Kind::kLayer, 5})), "layer");
  EXPECT_DEATH(static_cast<void>(parameters_at(tiny(), {Position::Kind::kLayer, -1})), "layer");
}

}  // namespace
}  // namespace ckptsim::models
