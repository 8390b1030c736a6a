#include "simulator/config/run_config.h"

#include <gmock/gmock.h>

#include "simulator/config/resources.h"
#include "tests/simulator/config/config_testing.h"

namespace ckptsim::simulator {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A valid configuration with `more` keys.
std::string with(const std::string& more) {
  return R"({"name": "x", "model": "llama3.1-8b")" + more + "}";
}

RunConfig parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_run_config(text, "run.json", overrides);
}

std::string parse_error(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return error_of([&] { return parse(text, overrides); });
}

const char* const kTinyModel = R"({"name": "tiny", "layers": 2, "hidden_size": 64, "ffn_hidden_size": 128,
                                   "attention_heads": 8, "kv_heads": 4, "vocabulary_size": 1000})";

TEST(RunConfig, EveryShippedRunIsValidAndNamedAsItsFile) {
  const std::vector<std::string> names = resource_names("runs");
  EXPECT_THAT(names, testing::IsSupersetOf(
                         {"llama3.1-405b-tp4pp2", "llama3.1-70b-tp8pp1", "llama3.1-8b-tp1pp1-dp8"}));
  for (const std::string& name : names) {
    EXPECT_EQ(error_of([&] { return load_run_config(name, {}); }), "no error");
    EXPECT_EQ(load_run_config(name, {}).name, name);
  }
}

TEST(RunConfig, LoadsTheShipped405BRun) {
  const RunConfig config = load_run_config("llama3.1-405b-tp4pp2", {});
  EXPECT_EQ(config.model.layers, 126);
  EXPECT_EQ(config.model.ffn_hidden_size, 53248);
  EXPECT_EQ(config.parallelism.tensor, 4);
  EXPECT_EQ(config.parallelism.pipeline, 2);
  EXPECT_EQ(config.checkpoint.checkpoints_per_pass, std::nullopt);
  EXPECT_EQ(config.storage.block_bytes, 4194304U);
}

TEST(RunConfig, NeedsOnlyNameAndModel) {
  EXPECT_EQ(parse_error(with("")), "no error");
  EXPECT_THAT(parse_error(R"({"name": "x"})"), StartsWith("/model | run.json: model is missing; add it: "));
  EXPECT_THAT(parse_error(R"({"model": "llama3.1-8b"})"),
              StartsWith("/name | run.json: name is missing; add it: "));
}

TEST(RunConfig, FindsAModelsFileFromTheFolderOfTheConfiguration) {
  const TemporaryFolder folder;
  static_cast<void>(folder.write("models/tiny.json", kTinyModel));
  const std::string path = folder.write("runs/r.json", R"({"name": "x", "model": "../models/tiny.json"})");
  EXPECT_EQ(load_run_config(path, {}).model.vocabulary_size, 1000);
}

TEST(RunConfig, FindsAModelOfTheCommandLineFromTheWorkingDirectory) {
  const TemporaryFolder folder;
  const std::string run = folder.write("runs/r.json", with(""));
  const std::string model = folder.write("runs/tiny.json", kTinyModel);
  EXPECT_EQ(load_run_config(run, {"model=" + model}).model.name, "tiny");
  EXPECT_THAT(error_of([&] { return load_run_config(run, {"model=./tiny.json"}); }),
              HasSubstr("./tiny.json: cannot be read: No such file"));
}

TEST(RunConfig, TakesAModelAsAnObject) {
  EXPECT_EQ(parse(R"({"name": "x", "model": )" + std::string(kTinyModel) + "}").model.kv_heads, 4);
}

TEST(RunConfig, NamesTheModelsFileInErrorsAboutIt) {
  const TemporaryFolder folder;
  static_cast<void>(folder.write("bad.json", R"({"name": "bad", "leyers": 2})"));
  const std::string path = folder.write("r.json", R"({"name": "x", "model": "bad.json"})");
  EXPECT_THAT(error_of([&] { return load_run_config(path, {}); }),
              HasSubstr(folder.path("bad.json") + ": leyers is not a known key; did you mean layers?"));
}

TEST(RunConfig, OverridesApplyInOrder) {
  EXPECT_EQ(parse(with(""), {"storage.queue_depth=8", "storage.queue_depth=16"}).storage.queue_depth, 16U);
  EXPECT_EQ(parse(with(""), {"checkpoint.checkpoints_per_pass=4"}).checkpoint.checkpoints_per_pass, 4);
  EXPECT_EQ(
      parse(with(R"(, "checkpoint": {"checkpoints_per_pass": 4})"), {"checkpoint.checkpoints_per_pass=auto"})
          .checkpoint.checkpoints_per_pass,
      std::nullopt);
}

TEST(RunConfig, OneDimensionOfANamedModelCanBeOverridden) {
  const RunConfig config = parse(with(""), {"model.layers=3"});
  EXPECT_EQ(config.model.layers, 3);
  EXPECT_EQ(config.model.hidden_size, 4096);
  EXPECT_EQ(parse(with(""), {"model=llama3.1-70b", "model.layers=3"}).model.hidden_size, 8192);
}

TEST(RunConfig, AnOverrideCanMendAndCompleteAFile) {
  EXPECT_EQ(
      parse_error(R"({"model": "no-such-model", "scale": 7})", {"name=x", "model=llama3.1-8b", "scale=1"}),
      "no error");
}

TEST(RunConfig, BlamesWhoSetTheValue) {
  EXPECT_EQ(parse_error(with(""), {"storage.queue_depth=0"}),
            "/storage/queue_depth | --set: storage.queue_depth must be an integer from 1 to 1024, not 0");
  EXPECT_THAT(parse_error(with(""), {"checkpoint={\"passes\": 0}"}),
              StartsWith("/checkpoint/passes | --set: checkpoint.passes must be "));
  EXPECT_THAT(parse_error(with(R"(, "scale": 2)"), {"storage.queue_depth=8"}),
              StartsWith("/scale | run.json: scale"));
  EXPECT_THAT(parse_error(with(""), {"model=nope"}), StartsWith("/model | --set: model \"nope\" is neither"));
}

TEST(RunConfig, RefusesWhatThisVersionDoesNotDo) {
  const std::vector<std::pair<std::string, std::string>> unsupported = {{"checkpoint.load", "always"},
                                                                        {"storage.backend", "simulated"},
                                                                        {"content.kind", "zero"},
                                                                        {"checkpoint.layout", "megatron"},
                                                                        {"parallelism.zero_stage", "2"}};
  for (const auto& [key, value] : unsupported) {
    EXPECT_THAT(parse_error(with(""), {std::string(key).append("=").append(value)}),
                testing::AllOf(HasSubstr("--set: " + key + " must be "),
                               HasSubstr(", which is what this version supports, not ")))
        << key;
  }
  EXPECT_THAT(parse_error(with(R"(, "simulation": {"host": "none"})")),
              HasSubstr("simulation is not a known key"));
}

TEST(RunConfig, ReadsWhenCheckpointsAreReadBack) {
  const RunConfig config =
      parse_run_config(with(""), "run.json", {"checkpoint.load=end", "checkpoint.load_rank_shift=true"});
  EXPECT_EQ(config.checkpoint.load, "end");
  EXPECT_TRUE(config.checkpoint.load_rank_shift);
  EXPECT_EQ(parse_run_config(with(""), "run.json", {}).checkpoint.load, "none");
}

TEST(RunConfig, RefusesToReadBackWhatTheBackendNullDropped) {
  for (const std::string load : {"each", "end"}) {
    EXPECT_EQ(
        parse_error(with(""),
                    {"storage.backend=null", "checkpoint.checkpoints_per_pass=1", "checkpoint.load=" + load}),
        "/checkpoint/load | --set: checkpoint.load must be \"none\" with storage.backend \"null\", which "
        "keeps nothing that could be read back, not \"" +
            load + "\"");
  }
}

TEST(RunConfig, RefusesToShiftRanksWhereNothingIsReadBack) {
  EXPECT_EQ(
      parse_error(with(""), {"checkpoint.load_rank_shift=true"}),
      "/checkpoint/load_rank_shift | --set: checkpoint.load_rank_shift must be false with checkpoint.load "
      "\"none\", which reads nothing back; set checkpoint.load to \"each\" or \"end\", or leave it out");
}

TEST(RunConfig, RefusesWhatLibtorchsWriterCannotWrite) {
  EXPECT_EQ(
      parse_error(with(""), {"storage.serializer=libtorch", "storage.torch_dialect=current"}),
      "/storage/torch_dialect | --set: storage.torch_dialect must be \"auto\" or \"1.13\" with "
      "storage.serializer \"libtorch\", which writes that release's files alone, not \"current\"; change it, "
      "or use the serializer stream");
  EXPECT_EQ(parse_error(with(R"(, "storage": {"serializer": "libtorch", "alignment_bytes": 128})")),
            "/storage/alignment_bytes | run.json: storage.alignment_bytes must be 64 with storage.serializer "
            "\"libtorch\", which knows no other, not 128; change it, or use the serializer stream");
  for (const char* dialect : {"auto", "1.13"}) {
    EXPECT_EQ(parse_error(with(""),
                          {"storage.serializer=libtorch", std::string("storage.torch_dialect=") + dialect}),
              "no error");
  }
}

TEST(RunConfig, TakesFractionsOfContent) {
  const RunConfig config = parse(
      with(R"(, "content": {"kind": "weights", "compressible_fraction": 0.25, "duplicate_fraction": 1})"));
  EXPECT_EQ(config.content_kind, "weights");
  EXPECT_EQ(config.content_compressible_fraction, 0.25);
  EXPECT_EQ(config.content_duplicate_fraction, 1);
  EXPECT_EQ(parse_error(with(R"(, "content": {"compressible_fraction": 0.0, "duplicate_fraction": -0.0})")),
            "no error");
}

TEST(RunConfig, WeightsCannotBeLessCompressibleThanTheyAre) {
  EXPECT_EQ(
      parse_error(with(R"(, "content": {"kind": "weights"})"), {"content.compressible_fraction=0.1"}),
      "/content/compressible_fraction | --set: content.compressible_fraction must be 0 or from 0.25 to 1 "
      "with content.kind \"weights\", which compress by up to 22 % by themselves, not 0.1; change one of "
      "the two");
  EXPECT_EQ(parse_error(with(""), {"content.kind=weights"}), "no error");
  EXPECT_EQ(parse_error(with(""), {"content.compressible_fraction=0.1"}), "no error");
}

TEST(RunConfig, NamesAreSafeFolderNames) {
  for (const char* const name : {"a", "A.b_c-9", "405b"}) {
    EXPECT_EQ(parse_error(with(""), {std::string("name=") + name}), "no error") << name;
  }
  EXPECT_EQ(parse_error(with(""), {"name=" + std::string(128, 'a')}), "no error");
  for (const std::string name : {"", ".", "..", "../x", "a/b", ".hidden", "-x", "a b", "\u00e4"}) {
    EXPECT_THAT(parse_error(with(""), {"name=" + name}),
                StartsWith("/name | --set: name must be a folder name"));
  }
  EXPECT_THAT(parse_error(with(""), {"name=" + std::string(129, 'a')}),
              HasSubstr("name must be a folder name"));
}

TEST(RunConfig, HoldsValuesToTheirRanges) {
  const std::vector<std::string> valid = {"scale=1",
                                          "scale=1e-9",
                                          "checkpoint.checkpoints_per_pass=99999",
                                          "checkpoint.fill_fraction=1",
                                          "checkpoint.passes=1000",
                                          "checkpoint.warmup_passes=0",
                                          "checkpoint.pause_seconds=0.5",
                                          "checkpoint.pause_seconds=86400",
                                          "storage.stall_seconds=0",
                                          "storage.stall_seconds=0.5",
                                          "storage.block_bytes=4096",
                                          "storage.block_bytes=67108864",
                                          "storage.queue_depth=1",
                                          "storage.alignment_bytes=32768",
                                          "content.seed=9007199254740992",
                                          "content.seed=0",
                                          "content.compressible_fraction=1",
                                          "content.duplicate_fraction=0.001",
                                          "parallelism.tensor=1048576",
                                          "storage.queue_depth=4.0"};
  for (const std::string& text : valid) {
    EXPECT_EQ(parse_error(with(""), {text}), "no error") << text;
  }
  const std::vector<std::string> invalid = {"scale=0",
                                            "scale=1.0001",
                                            "scale=-1",
                                            "scale=1e-400",
                                            "scale=true",
                                            "checkpoint.checkpoints_per_pass=0",
                                            "checkpoint.checkpoints_per_pass=100000",
                                            "checkpoint.checkpoints_per_pass=1.5",
                                            "checkpoint.fill_fraction=0",
                                            "checkpoint.fill_fraction=1.1",
                                            "checkpoint.passes=0",
                                            "checkpoint.passes=1001",
                                            "checkpoint.warmup_passes=1001",
                                            "checkpoint.pause_seconds=86401",
                                            "checkpoint.pause_seconds=-1",
                                            "storage.stall_seconds=-1",
                                            "storage.stall_seconds=86401",
                                            "storage.block_bytes=0",
                                            "storage.block_bytes=4097",
                                            "storage.block_bytes=67112960",
                                            "storage.queue_depth=0",
                                            "storage.queue_depth=1025",
                                            "storage.queue_depth=4.5",
                                            "storage.alignment_bytes=32",
                                            "storage.alignment_bytes=96",
                                            "storage.alignment_bytes=65536",
                                            "content.seed=9007199254740993",
                                            "content.seed=-1",
                                            "content.compressible_fraction=1.01",
                                            "content.compressible_fraction=-0.1",
                                            "content.duplicate_fraction=1.01",
                                            "content.duplicate_fraction=-0.1",
                                            "content.seed=18446744073709551615",
                                            "parallelism.tensor=0",
                                            "parallelism.data=1048577",
                                            "storage.targets=[\"\"]",
                                            "model.layers=9223372036854775808",
                                            "model.layers=0"};
  for (const std::string& text : invalid) {
    EXPECT_THAT(parse_error(with(""), {text}), HasSubstr(text.substr(0, text.find('=')))) << text;
  }
}

TEST(RunConfig, TrimNeedsDelete) {
  EXPECT_EQ(parse_error(with(R"(, "checkpoint": {"trim": true})")),
            "/checkpoint/trim | run.json: checkpoint.trim needs checkpoint.between_passes \"delete\", not "
            "\"truncate\"; change one of the two");
  EXPECT_EQ(parse_error(with(R"(, "checkpoint": {"trim": true, "between_passes": "delete"})")), "no error");
}

TEST(RunConfig, BuffersOfARankStayBelowOneGibibyte) {
  EXPECT_EQ(parse_error(with(R"(, "storage": {"block_bytes": 67108864, "queue_depth": 14})")), "no error");
  EXPECT_THAT(
      parse_error(with(R"(, "storage": {"block_bytes": 67108864, "queue_depth": 15})")),
      StartsWith("/storage/block_bytes | run.json: storage.block_bytes x (storage.queue_depth + 2) is the "
                 "memory of one rank and at most 1073741824 bytes"));
  EXPECT_THAT(parse_error(with(""), {"storage.queue_depth=1024"}),
              HasSubstr(" | --set: storage.block_bytes x"));
}

TEST(RunConfig, NullBackendNeedsANumberOfCheckpoints) {
  EXPECT_THAT(
      parse_error(with(""), {"storage.backend=null"}),
      StartsWith(
          "/checkpoint/checkpoints_per_pass | --set: checkpoint.checkpoints_per_pass must be a number"));
  EXPECT_EQ(parse_error(with(""), {"storage.backend=null", "checkpoint.checkpoints_per_pass=4"}), "no error");
}

TEST(RunConfig, SurvivesHostileDocuments) {
  EXPECT_THAT(parse_error(std::string(100000, '[')), HasSubstr("nested more than"));
  EXPECT_THAT(parse_error("[]"), HasSubstr("the configuration must be a JSON object"));
  EXPECT_THAT(parse_error("null"), HasSubstr("the configuration must be a JSON object"));
  EXPECT_THAT(parse_error("[]", {"model.layers=1"}),
              HasSubstr("run.json: the configuration must be a JSON object"));
  std::string many = R"(, "storage": {"targets": [1)";
  while (many.size() < 1000000) {
    many += ",1";
  }
  EXPECT_THAT(parse_error(with(many + "]}")), HasSubstr("storage.targets[0] must be a directory's path"));
}

}  // namespace
}  // namespace ckptsim::simulator
