#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ckptsim::models {

// A decoder-only transformer with SwiGLU, RMSNorm, grouped-query attention, untied embeddings and no biases
// (LLaMA 3.1). configs/models/*.json holds these numbers.
struct Transformer {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden_size = 0;      // H
  std::int64_t ffn_hidden_size = 0;  // F
  std::int64_t attention_heads = 0;  // A
  std::int64_t kv_heads = 0;         // K
  std::int64_t vocabulary_size = 0;  // V
};

// Where in the model a parameter stands: decoder layer 0..layers-1, before them or after them.
struct Position {
  enum class Kind { kFirst, kLayer, kLast };
  Kind kind = Kind::kLayer;
  std::int64_t layer = 0;
};

// One parameter of the whole model, named and shaped as in Megatron-Core.
struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;  // whole, not sharded
  std::optional<std::size_t> cut;   // the axis that tensor parallelism divides; empty: whole on every tp rank
  Position position;
};

// Parameters of one position (kLayer: of that layer) in Megatron-Core's order; d = H / A:
//   kFirst  embedding.word_embeddings.weight                         V x H            cut 0
//   kLayer  decoder.layers.N.input_layernorm.weight                  H                whole
//           decoder.layers.N.self_attention.linear_qkv.weight        (A + 2K) d x H   cut 0
//           decoder.layers.N.self_attention.linear_proj.weight       H x A d          cut 1
//           decoder.layers.N.pre_mlp_layernorm.weight                H                whole
//           decoder.layers.N.mlp.linear_fc1.weight                   2F x H           cut 0
//           decoder.layers.N.mlp.linear_fc2.weight                   H x F            cut 1
//   kLast   decoder.final_layernorm.weight                           H                whole
//           output_layer.weight                                      V x H            cut 0
// Throws ConfigError (pointer "/model") where a dimension is below 1, where A does not divide H or K does not
// divide A, and where a parameter has more than 2^63 - 1 elements. A layer outside the model is a broken
// invariant.
[[nodiscard]] std::vector<Parameter> parameters_at(const Transformer& model, const Position& position);

// Elements of all parameters together. Throws like parameters_at.
[[nodiscard]] std::int64_t parameter_count(const Transformer& model);

}  // namespace ckptsim::models
