#include "simulator/config/overrides.h"

#include <gmock/gmock.h>

#include "simulator/config/documents.h"
#include "tests/simulator/config/config_testing.h"

namespace ckptsim::simulator {
namespace {

using testing::HasSubstr;

Json value_set_by(const std::string& text) {
  return parse_override(run_schema(), text).value;
}

std::string set_error(const std::string& text) {
  return error_of([&] { return parse_override(run_schema(), text); });
}

TEST(Overrides, KeepsATextAsItStandsWhereTheKeyTakesOnlyTexts) {
  EXPECT_EQ(value_set_by("name=4"), Json("4"));
  EXPECT_EQ(value_set_by("storage.torch_dialect=1.13"), Json("1.13"));
  EXPECT_EQ(value_set_by("storage.backend=null"), Json("null"));
  EXPECT_EQ(value_set_by("name=a=b"), Json("a=b"));
  EXPECT_EQ(value_set_by("name="), Json(""));
  EXPECT_EQ(value_set_by("name=\"x\""), Json("\"x\""));
}

TEST(Overrides, ReadsJsonWhereTheKeyTakesNoText) {
  EXPECT_EQ(value_set_by("storage.queue_depth=8"), Json(8));
  EXPECT_EQ(value_set_by("scale=1e-3"), Json(0.001));
  EXPECT_EQ(value_set_by("checkpoint.trim=true"), Json(true));
  EXPECT_EQ(value_set_by("storage.targets=[\"/a\", \"b\"]"), Json({"/a", "b"}));
  EXPECT_EQ(value_set_by("checkpoint={\"passes\": 1}"), Json({{"passes", 1}}));
}

TEST(Overrides, TellsJsonFromTextWhereTheKeyTakesBoth) {
  EXPECT_EQ(value_set_by("checkpoint.checkpoints_per_pass=4"), Json(4));
  EXPECT_EQ(value_set_by("checkpoint.checkpoints_per_pass=auto"), Json("auto"));
  EXPECT_EQ(value_set_by("model=llama3.1-8b"), Json("llama3.1-8b"));
  EXPECT_EQ(value_set_by("model={\"layers\": 1}"), Json({{"layers", 1}}));
}

TEST(Overrides, NamesTheSyntaxErrorOfAnOpenedObject) {
  EXPECT_THAT(set_error("model={\"layers\":"),
              HasSubstr("/model | --set: model is not JSON: line 1, column 1"));
  EXPECT_THAT(set_error("model={\"layers\":1,\"layers\":2}"), HasSubstr("--set: model.layers stands twice"));
}

TEST(Overrides, RefusesAWordWhereTheKeyTakesNone) {
  EXPECT_EQ(
      set_error("storage.queue_depth=four"),
      "/storage/queue_depth | --set: storage.queue_depth must be an integer from 1 to 1024, not \"four\"");
  EXPECT_EQ(set_error("checkpoint.trim=yes"),
            "/checkpoint/trim | --set: checkpoint.trim must be true or false, not \"yes\"");
  EXPECT_THAT(set_error("storage.targets=/mnt/a"), HasSubstr("--set: storage.targets must be a list of"));
}

TEST(Overrides, RefusesUnknownKeysWithTheNearest) {
  EXPECT_EQ(set_error("storage.quue_depth=4"),
            "/storage/quue_depth | --set: storage.quue_depth is not a known key; did you mean "
            "storage.queue_depth?");
  EXPECT_THAT(set_error("simulation.drive=x.json"),
              HasSubstr("--set: simulation.drive is not a known key; the known"));
  EXPECT_THAT(set_error("name.x=1"), HasSubstr("--set: name.x is not a known key"));
}

TEST(Overrides, RefusesAnEntryOfAList) {
  EXPECT_EQ(
      set_error("storage.targets.0=/a"),
      "/storage/targets | --set: storage.targets is set as a whole, such as storage.targets=[\"a\", \"b\"]");
}

TEST(Overrides, RefusesATextWithoutKeyOrValue) {
  EXPECT_EQ(set_error("foo"),
            " | --set: \"foo\" is not of the form key.key=value, such as storage.queue_depth=8");
  EXPECT_THAT(set_error("=4"), HasSubstr("is not of the form key.key=value"));
  EXPECT_THAT(set_error(""), HasSubstr("is not of the form key.key=value"));
}

TEST(Overrides, RefusesTextsThatJsonCannotHold) {
  EXPECT_THAT(set_error("name=\xff"), HasSubstr("/name | --set: name is not UTF-8"));
  EXPECT_THAT(set_error("name=a\nb"), HasSubstr("--set: name holds a control character"));
  EXPECT_THAT(set_error("n\xff=b"), HasSubstr("is not UTF-8"));
}

TEST(Overrides, MakesTheObjectsThatLeadToAValue) {
  Json document = Json::parse(R"({"storage": {"block_bytes": 4096}})");
  apply_override(run_schema(), {{"storage", "queue_depth"}, 8}, document, "run.json");
  apply_override(run_schema(), {{"checkpoint", "passes"}, 2}, document, "run.json");
  apply_override(run_schema(), {{"storage", "block_bytes"}, 8192}, document, "run.json");
  EXPECT_EQ(document, Json::parse(R"({"storage": {"block_bytes": 8192, "queue_depth": 8},
                                      "checkpoint": {"passes": 2}})"));
}

TEST(Overrides, BlamesTheFileForWhatStandsInTheWay) {
  EXPECT_EQ(error_of([] {
              Json document = Json::parse(R"({"storage": 3})");
              apply_override(run_schema(), {{"storage", "queue_depth"}, 8}, document, "run.json");
              return 0;
            }),
            "/storage | run.json: storage must be an object with keys of its own, not 3");
}

}  // namespace
}  // namespace ckptsim::simulator
