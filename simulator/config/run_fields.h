#pragma once

#include "simulator/config/run_config.h"

// Internal to simulator/config.
namespace ckptsim::simulator {

// One list of keys for both directions, so that what is read and what is written cannot drift apart. `Config`
// is RunConfig or const RunConfig. The visitor is called as
//   visitor.section(key, f)     f(visitor of the object at key)
//   visitor.field(key, value)   a value that is read and written
template <typename Visitor, typename Config>
void visit_run_fields(Visitor visitor, Config& config) {
  visitor.field("name", config.name);
  visitor.section("model", [&config](Visitor model) {
    model.field("name", config.model.name);
    model.field("layers", config.model.layers);
    model.field("hidden_size", config.model.hidden_size);
    model.field("ffn_hidden_size", config.model.ffn_hidden_size);
    model.field("attention_heads", config.model.attention_heads);
    model.field("kv_heads", config.model.kv_heads);
    model.field("vocabulary_size", config.model.vocabulary_size);
  });
  visitor.field("training_state", config.training_state);
  visitor.section("parallelism", [&config](Visitor parallelism) {
    parallelism.field("tensor", config.parallelism.tensor);
    parallelism.field("pipeline", config.parallelism.pipeline);
    parallelism.field("data", config.parallelism.data);
    parallelism.field("zero_stage", config.parallelism.zero_stage);
  });
  visitor.section("checkpoint", [&config](Visitor checkpoint) {
    checkpoint.field("layout", config.checkpoint.layout);
    checkpoint.field("passes", config.checkpoint.passes);
    checkpoint.field("checkpoints_per_pass", config.checkpoint.checkpoints_per_pass);
    checkpoint.field("fill_fraction", config.checkpoint.fill_fraction);
    checkpoint.field("between_passes", config.checkpoint.between_passes);
    checkpoint.field("trim", config.checkpoint.trim);
    checkpoint.field("warmup_passes", config.checkpoint.warmup_passes);
    checkpoint.field("fsync", config.checkpoint.fsync);
    checkpoint.field("load", config.checkpoint.load);
    checkpoint.field("load_rank_shift", config.checkpoint.load_rank_shift);
    checkpoint.field("pause_seconds", config.checkpoint.pause_seconds);
  });
  visitor.section("storage", [&config](Visitor storage) {
    storage.field("targets", config.storage.targets);
    storage.field("backend", config.storage.backend);
    storage.field("serializer", config.storage.serializer);
    storage.field("torch_dialect", config.storage.torch_dialect);
    storage.field("alignment_bytes", config.storage.alignment_bytes);
    storage.field("block_bytes", config.storage.block_bytes);
    storage.field("queue_depth", config.storage.queue_depth);
    storage.field("registered_buffers", config.storage.registered_buffers);
    storage.field("registered_files", config.storage.registered_files);
    storage.field("sqpoll", config.storage.sqpoll);
    storage.field("iopoll", config.storage.iopoll);
    storage.field("huge_pages", config.storage.huge_pages);
    storage.field("preallocate", config.storage.preallocate);
    storage.field("stall_seconds", config.storage.stall_seconds);
    storage.field("drive_state", config.storage.drive_state);
  });
  visitor.section("content", [&config](Visitor content) {
    content.field("seed", config.content_seed);
    content.field("kind", config.content_kind);
    content.field("compressible_fraction", config.content_compressible_fraction);
    content.field("duplicate_fraction", config.content_duplicate_fraction);
  });
  visitor.field("scale", config.scale);
}

}  // namespace ckptsim::simulator
