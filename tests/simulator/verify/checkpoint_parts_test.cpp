#include "simulator/verify/checkpoint_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "simulator/verify/verify.h"
#include "small_checkpoint.h"

namespace ckptsim::simulator {
namespace {

using simulator::testing::SmallCheckpoint;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

VerifyResult verified(const SmallCheckpoint& first, const SmallCheckpoint& second) {
  const auto communicator = make_serial_communicator();
  Progress progress;
  return verify(*communicator,
                {.folders = {first.target().string(), second.target().string()}, .backend = "buffered"},
                progress);
}

TEST(Parts, ThatAreElsewhereAreNamedAndTheRestIsNoCheckpoint) {
  const SmallCheckpoint first({}, {.part = 1, .parts = 2});
  const SmallCheckpoint second({}, {.part = 2, .parts = 2});
  const VerifyResult half = first.verified();
  EXPECT_THAT(half.missing_parts,
              ElementsAre("small, pass 1, checkpoint 1: part 2 of 2 is not in the folders named; name all "
                          "targets of the run"));
  EXPECT_THAT(half.checkpoints.at(0).findings, IsEmpty());
  EXPECT_FALSE(half.checkpoints.at(0).complete);
  EXPECT_EQ(half.exit_code(), ExitCode::kUnsuitable);
  const VerifyResult both = verified(first, second);
  EXPECT_THAT(both.missing_parts, IsEmpty());
  EXPECT_EQ(both.checkpoints.size(), 2U);
  EXPECT_TRUE(both.checkpoints.at(0).complete && both.checkpoints.at(1).complete);
  EXPECT_EQ(both.exit_code(), ExitCode::kDone);
}

TEST(Parts, BesideACompleteCheckpointAreOnlyNamed) {
  const SmallCheckpoint whole({}, {}, 2);
  const SmallCheckpoint half({}, {.part = 1, .parts = 2});
  const VerifyResult result = verified(whole, half);
  EXPECT_EQ(result.missing_parts.size(), 1U);
  EXPECT_EQ(result.exit_code(), ExitCode::kDone);
}

TEST(Parts, ThatAreWrongAreExit5AlsoWithoutTheOthers) {
  const SmallCheckpoint half({}, {.part = 1, .parts = 2});
  std::filesystem::remove(half.folder() / "c.pt");
  EXPECT_EQ(half.verified().exit_code(), ExitCode::kVerification);
}

TEST(Parts, OfTwoRunsMakeNoCheckpoint) {
  struct Other {
    std::function<void(RunConfig&)> change;
    std::string words;
  };
  const std::vector<Other> others = {
      {[](RunConfig& config) { config.content_seed = 2; }, "is of a run with seed 2, not 1)"},
      {[](RunConfig& config) { config.content_kind = "weights"; },
       "is of a run with other content settings)"},
      {[](RunConfig& config) { config.content_compressible_fraction = 0.5; }, "other content settings"},
      {[](RunConfig& config) { config.content_duplicate_fraction = 0.5; }, "other content settings"},
      {[](RunConfig& config) { config.storage.torch_dialect = "1.13"; }, "another torch_dialect"},
      {[](RunConfig& config) { config.storage.alignment_bytes = 4096; }, "alignment_bytes 4096, not"}};
  const SmallCheckpoint first({}, {.part = 1, .parts = 2});
  for (const auto& [change, words] : others) {
    RunConfig config;
    change(config);
    const SmallCheckpoint second(config, {.part = 2, .parts = 2});
    const VerifyResult result = verified(first, second);
    EXPECT_EQ(result.exit_code(), ExitCode::kUnsuitable) << words;
    ASSERT_EQ(result.missing_parts.size(), 2U) << words;
    const std::string both = result.missing_parts[0] + result.missing_parts[1];
    EXPECT_THAT(both, HasSubstr("part 1 of 2 is not in the folders named"));
    EXPECT_THAT(both, HasSubstr("part 2 of 2 is not in the folders named"));
    EXPECT_THAT(both, HasSubstr(second.folder().string() + " is of"));
    EXPECT_THAT(both, HasSubstr(words));
  }
}

Manifest part_of(std::uint64_t part, std::uint64_t parts, std::int64_t pass = 1) {
  Manifest manifest;
  manifest.name = "n";
  manifest.pass = pass;
  manifest.checkpoint = 1;
  manifest.part = {.part = part, .parts = parts};
  return manifest;
}

TEST(Parts, OfTwoPassesOrOfAnotherNumberOfPartsMakeNoCheckpoint) {
  CheckpointParts passes;
  passes.add(0, "first", part_of(1, 2, 1));
  passes.add(1, "second", part_of(2, 2, 3));
  EXPECT_FALSE(passes.complete(0) || passes.complete(1));
  EXPECT_THAT(passes.missing(),
              ElementsAre(HasSubstr("part 2 of 2 is not in the folders named (that in second is "
                                    "of pass 3)"),
                          HasSubstr("(that in first is of pass 1)")));
  CheckpointParts counts;
  counts.add(0, "first", part_of(1, 2));
  counts.add(1, "second", part_of(2, 3));
  EXPECT_THAT(counts.missing(), ElementsAre(HasSubstr("(that in second is of a run with 3 parts)"),
                                            HasSubstr("parts 1, 3 of 3 are not in the folders named")));
}

TEST(Parts, AreNamedInASentenceHoweverManyAreClaimed) {
  CheckpointParts parts;
  parts.add(0, "first", part_of(2, std::numeric_limits<std::int32_t>::max()));
  EXPECT_THAT(parts.missing(),
              ElementsAre(HasSubstr(": parts 1, 3, 4 and 2147483643 more of 2147483647 are not")));
}

TEST(Parts, OfACheckpointThatIsCompleteAreNotOfferedToAnother) {
  CheckpointParts parts;
  parts.add(0, "first", part_of(1, 2));
  parts.add(1, "whole", part_of(1, 1, 2));
  parts.add(2, "other", part_of(1, 2, 3));
  parts.add(3, "other2", part_of(2, 2, 3));
  EXPECT_THAT(parts.missing(),
              ElementsAre("n, pass 1, checkpoint 1: part 2 of 2 is not in the folders named; name all "
                          "targets of the run"));
}

TEST(Parts, OfAFolderWithoutAManifestAreNotComplete) {
  EXPECT_FALSE(CheckpointParts().complete(0));
}

TEST(Parts, InOneFolderAndTwiceAreCountedOnce) {
  CheckpointParts parts;
  parts.add(0, "one", part_of(1, 2));
  parts.add(1, "copy", part_of(1, 2));
  EXPECT_FALSE(parts.complete(0));
  parts.add(0, "one", part_of(2, 2));
  EXPECT_TRUE(parts.complete(0) && parts.complete(1));
  EXPECT_THAT(parts.missing(), IsEmpty());
}

}  // namespace
}  // namespace ckptsim::simulator
