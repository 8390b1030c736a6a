#include <gmock/gmock.h>

#include "simulator/config/documents.h"
#include "simulator/config/run_config.h"
#include "simulator/config/schema_tree.h"
#include "tests/simulator/config/config_testing.h"

namespace ckptsim::simulator {
namespace {

// Nothing in it is a default.
RunConfig unusual_config() {
  RunConfig config;
  config.name = "unusual";
  config.model = {"tiny \u00e4", 2, 64, 128, 8, 4, 1000};
  config.training_state = "adam-mixed";
  config.parallelism = {2, 3, 4, 3};
  config.checkpoint = {"deepspeed", 7, 5, 0.1, "delete", true, 2, "end", "each", true, 0.3};
  config.storage = {.targets = {"/mnt/a b", "relative"},
                    .backend = "direct",
                    .serializer = "stream",
                    .torch_dialect = "1.13",
                    .alignment_bytes = 4096,
                    .block_bytes = 8192,
                    .queue_depth = 16,
                    .registered_buffers = "on",
                    .registered_files = true,
                    .sqpoll = true,
                    .iopoll = true,
                    .huge_pages = "off",
                    .preallocate = true,
                    .stall_seconds = 2.5,
                    .drive_state = "trimmed"};
  config.content_seed = 9007199254740992;
  config.content_kind = "weights";
  config.content_compressible_fraction = 0.3;
  config.content_duplicate_fraction = 0.7;
  config.scale = 1e-7;
  return config;
}

TEST(EffectiveConfig, ReadsBackToTheSameConfiguration) {
  const RunConfig config = unusual_config();
  const RunConfig back = parse_run_config(effective_config(config), "rank 0", {});
  EXPECT_EQ(back.name, config.name);
  EXPECT_EQ(back.model.name, config.model.name);
  EXPECT_EQ(back.model.layers, 2);
  EXPECT_EQ(back.model.hidden_size, 64);
  EXPECT_EQ(back.model.ffn_hidden_size, 128);
  EXPECT_EQ(back.model.attention_heads, 8);
  EXPECT_EQ(back.model.kv_heads, 4);
  EXPECT_EQ(back.model.vocabulary_size, 1000);
  EXPECT_EQ(back.training_state, "adam-mixed");
  EXPECT_EQ(back.parallelism.tensor, 2);
  EXPECT_EQ(back.parallelism.pipeline, 3);
  EXPECT_EQ(back.parallelism.data, 4);
  EXPECT_EQ(back.parallelism.zero_stage, 3);
  EXPECT_EQ(back.checkpoint.passes, 7);
  EXPECT_EQ(back.checkpoint.checkpoints_per_pass, 5);
  EXPECT_EQ(back.checkpoint.fill_fraction, 0.1);
  EXPECT_EQ(back.checkpoint.between_passes, "delete");
  EXPECT_TRUE(back.checkpoint.trim);
  EXPECT_EQ(back.checkpoint.warmup_passes, 2);
  EXPECT_EQ(back.checkpoint.fsync, "end");
  EXPECT_EQ(back.checkpoint.load, "each");
  EXPECT_TRUE(back.checkpoint.load_rank_shift);
  EXPECT_EQ(back.checkpoint.pause_seconds, 0.3);
  EXPECT_EQ(back.storage.targets, config.storage.targets);
  EXPECT_EQ(back.storage.backend, "direct");
  EXPECT_EQ(back.storage.torch_dialect, "1.13");
  EXPECT_EQ(back.storage.alignment_bytes, 4096U);
  EXPECT_EQ(back.storage.block_bytes, 8192U);
  EXPECT_EQ(back.storage.queue_depth, 16U);
  EXPECT_EQ(back.storage.registered_buffers, "on");
  EXPECT_TRUE(back.storage.registered_files);
  EXPECT_TRUE(back.storage.sqpoll);
  EXPECT_TRUE(back.storage.iopoll);
  EXPECT_EQ(back.storage.huge_pages, "off");
  EXPECT_TRUE(back.storage.preallocate);
  EXPECT_EQ(back.storage.stall_seconds, 2.5);
  EXPECT_EQ(back.storage.drive_state, "trimmed");
  EXPECT_EQ(back.content_seed, 9007199254740992U);
  EXPECT_EQ(back.content_kind, "weights");
  EXPECT_EQ(back.content_compressible_fraction, 0.3);
  EXPECT_EQ(back.content_duplicate_fraction, 0.7);
  EXPECT_EQ(back.scale, 1e-7);
  EXPECT_EQ(effective_config(back), effective_config(config));
}

TEST(EffectiveConfig, ReadsAutoBackAsAuto) {
  RunConfig config = unusual_config();
  config.checkpoint.checkpoints_per_pass.reset();
  EXPECT_EQ(parse_run_config(effective_config(config), "rank 0", {}).checkpoint.checkpoints_per_pass,
            std::nullopt);
}

TEST(EffectiveConfig, HoldsEveryKeyOfTheSchema) {
  const Json effective = Json::parse(effective_config(unusual_config()));
  for (const KeyPath& key : known_keys(run_schema())) {
    if (key != KeyPath{"$schema"}) {  // where an editor finds the schema is not a setting
      EXPECT_TRUE(effective.contains(Json::json_pointer(json_pointer(key)))) << dotted(key);
    }
  }
}

TEST(EffectiveConfig, RefusesATargetThatJsonCannotHoldInsteadOfChangingIt) {
  RunConfig config = unusual_config();
  config.storage.targets = {"/mnt/\xff"};
  EXPECT_THAT(error_of([&] { return effective_config(config); }), testing::HasSubstr("unusual: a text"));
}

}  // namespace
}  // namespace ckptsim::simulator
