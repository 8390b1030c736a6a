#include "simulator/config/config_part.h"

#include <gtest/gtest.h>

#include "simulator/config/documents.h"

namespace ckptsim::simulator {
namespace {

TEST(ConfigPart, GivesAValueAsAnOverrideTakesIt) {
  const RunConfig config = load_run_config("llama3.1-8b-tp1pp1", {"storage.queue_depth=7"});
  EXPECT_EQ(config_value(config, "storage.queue_depth"), "7");
  EXPECT_EQ(config_value(config, "storage.preallocate"), "false");
  EXPECT_EQ(config_value(config, "storage.backend"), "auto");
}

TEST(ConfigPart, HoldsTheKeysAskedForAndNoOther) {
  const RunConfig config = load_run_config("llama3.1-8b-tp1pp1", {"storage.queue_depth=7"});
  EXPECT_EQ(Json::parse(config_part(config, {"storage.queue_depth", "checkpoint.fsync"})),
            Json::parse(R"({"storage": {"queue_depth": 7}, "checkpoint": {"fsync": "file"}})"));
}

}  // namespace
}  // namespace ckptsim::simulator
