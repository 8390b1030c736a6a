#include "models/transformer.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "models/checked_arithmetic.h"
#include "models/errors.h"
#include "models/invariant.h"

namespace ckptsim::models {
namespace {

// Weights of linear layers are (outputs, inputs). Tensor parallelism cuts the outputs of a layer that fans
// out and the inputs of the one that gathers, so that a pair of layers needs one exchange.
constexpr std::size_t kOutputs = 0;
constexpr std::size_t kInputs = 1;

void check_dimensions_positive(const Transformer& model) {
  const std::array<std::pair<std::string_view, std::int64_t>, 6> dimensions{{
      {"layers", model.layers},
      {"hidden_size", model.hidden_size},
      {"ffn_hidden_size", model.ffn_hidden_size},
      {"attention_heads", model.attention_heads},
      {"kv_heads", model.kv_heads},
      {"vocabulary_size", model.vocabulary_size},
  }};
  for (const auto& [key, value] : dimensions) {
    if (value < 1) {
      throw ConfigError("/model", fmt::format("model: {} is {}; it has to be at least 1", key, value));
    }
  }
}

void check_heads(const Transformer& model) {
  if (model.hidden_size % model.attention_heads != 0) {
    throw ConfigError(
        "/model",
        fmt::format("model: {} attention_heads do not divide hidden_size {}; choose a divisor of it",
                    model.attention_heads, model.hidden_size));
  }
  if (model.attention_heads % model.kv_heads != 0) {
    throw ConfigError(
        "/model", fmt::format("model: {} kv_heads do not divide {} attention_heads; choose a divisor of them",
                              model.kv_heads, model.attention_heads));
  }
}

std::vector<Parameter> layer_parameters(const Transformer& model, const Position& position) {
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t head_size = hidden / model.attention_heads;
  const std::int64_t query_size = checked_product(model.attention_heads, head_size);
  const std::int64_t kv_size = checked_product(model.kv_heads, head_size);
  const std::int64_t qkv_size = checked_sum(query_size, checked_product(2, kv_size));
  // SwiGLU's gate and up projections are one matrix.
  const std::int64_t fc1_size = checked_product(2, model.ffn_hidden_size);

  const std::string prefix = fmt::format("decoder.layers.{}.", position.layer);
  return {
      {prefix + "input_layernorm.weight", {hidden}, std::nullopt, position},
      {prefix + "self_attention.linear_qkv.weight", {qkv_size, hidden}, kOutputs, position},
      {prefix + "self_attention.linear_proj.weight", {hidden, query_size}, kInputs, position},
      {prefix + "pre_mlp_layernorm.weight", {hidden}, std::nullopt, position},
      {prefix + "mlp.linear_fc1.weight", {fc1_size, hidden}, kOutputs, position},
      {prefix + "mlp.linear_fc2.weight", {hidden, model.ffn_hidden_size}, kInputs, position},
  };
}

std::vector<Parameter> unchecked_parameters_at(const Transformer& model, const Position& position) {
  const std::vector<std::int64_t> vocabulary_by_hidden{model.vocabulary_size, model.hidden_size};
  switch (position.kind) {
    case Position::Kind::kFirst:
      return {{"embedding.word_embeddings.weight", vocabulary_by_hidden, kOutputs, position}};
    case Position::Kind::kLayer:
      require(position.layer >= 0 && position.layer < model.layers,
              "a parameter's layer is one of the model's");
      return layer_parameters(model, position);
    case Position::Kind::kLast:
      return {{"decoder.final_layernorm.weight", {model.hidden_size}, std::nullopt, position},
              {"output_layer.weight", vocabulary_by_hidden, kOutputs, position}};
  }
  require(false, "a position is first, a layer or last");
  return {};
}

std::int64_t parameter_count_at(const Transformer& model, const Position& position) {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters_at(model, position)) {
    count = checked_sum(count, checked_element_count(parameter.shape));
  }
  return count;
}

}  // namespace

std::vector<Parameter> parameters_at(const Transformer& model, const Position& position) {
  check_dimensions_positive(model);
  check_heads(model);
  std::vector<Parameter> parameters = unchecked_parameters_at(model, position);
  for (const Parameter& parameter : parameters) {
    static_cast<void>(checked_element_count(parameter.shape));  // throws for a tensor nobody could address
  }
  return parameters;
}

std::int64_t parameter_count(const Transformer& model) {
  const std::int64_t layer = parameter_count_at(model, {Position::Kind::kLayer, 0});  // all layers are alike
  const std::int64_t ends = checked_sum(parameter_count_at(model, {Position::Kind::kFirst, 0}),
                                        parameter_count_at(model, {Position::Kind::kLast, 0}));
  return checked_sum(checked_product(layer, model.layers), ends);
}

}  // namespace ckptsim::models
