#include "simulator/run/capacity.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simulator/engine/failure.h"

namespace ckptsim::simulator {
namespace {

constexpr std::uint64_t kCheckpoint = 1'636'154'000'000;  // file bytes of the default run, about

TargetSpace drive(double capacity_tb) {
  const auto bytes = static_cast<std::uint64_t>(capacity_tb * 1e12);
  return {.path = "/mnt/nvme0",
          .file_system = "a",
          .capacity_bytes = bytes,
          .available_bytes = bytes,
          .checkpoint_bytes = kCheckpoint};
}

std::string refusal(const TargetSpace& target, std::optional<std::int64_t> asked) {
  try {
    (void)checkpoints_per_pass({target}, asked, 0.87);
  } catch (const RunFailure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kUnsuitable);
    return failure.what();
  }
  return "accepted";
}

TEST(CheckpointsPerPass, AutoGivesThePublishedCounts) {
  EXPECT_EQ(checkpoints_per_pass({drive(6.4)}, std::nullopt, 0.87).checkpoints, 3);
  EXPECT_EQ(checkpoints_per_pass({drive(7.68)}, std::nullopt, 0.87).checkpoints, 4);
  EXPECT_EQ(checkpoints_per_pass({drive(12.8)}, std::nullopt, 0.87).checkpoints, 6);
  EXPECT_EQ(checkpoints_per_pass({drive(15.36)}, std::nullopt, 0.87).checkpoints, 8);
}

TEST(CheckpointsPerPass, AutoIsBoundByWhatIsFreeAndCountsTheEarlierRunAsFree) {
  TargetSpace target = drive(7.68);
  target.available_bytes = 2 * kCheckpoint;
  EXPECT_EQ(checkpoints_per_pass({target}, std::nullopt, 0.87).checkpoints, 1)
      << "2 % stay with the file system";
  target.own.bytes = kCheckpoint;
  EXPECT_EQ(checkpoints_per_pass({target}, std::nullopt, 0.87).checkpoints, 2);
}

TEST(CheckpointsPerPass, TheLeastTargetDecides) {
  TargetSpace small = drive(7.68);
  TargetSpace large = drive(12.8);
  large.file_system = "b";
  EXPECT_EQ(checkpoints_per_pass({large, small}, std::nullopt, 0.87).checkpoints, 4);
}

TEST(CheckpointsPerPass, TargetsOnOneFileSystemShareItsRoom) {
  TargetSpace half = drive(7.68);
  half.checkpoint_bytes = kCheckpoint / 2;
  EXPECT_EQ(checkpoints_per_pass({half, half}, std::nullopt, 0.87).checkpoints, 4);
  TargetSpace elsewhere = half;
  elsewhere.file_system = "b";
  EXPECT_EQ(checkpoints_per_pass({half, elsewhere}, std::nullopt, 0.87).checkpoints, 8);
}

TEST(CheckpointsPerPass, ATargetWhoseRanksWriteNothingDoesNotCount) {
  TargetSpace idle = drive(0.001);
  idle.checkpoint_bytes = 0;
  idle.file_system = "b";
  EXPECT_EQ(checkpoints_per_pass({drive(7.68), idle}, std::nullopt, 0.87).checkpoints, 4);
}

TEST(CheckpointsPerPass, ANumberIsTakenWhenItFits) {
  EXPECT_EQ(checkpoints_per_pass({drive(7.68)}, 4, 0.1).checkpoints, 4) << "fill_fraction is auto's alone";
}

TEST(CheckpointsPerPass, SaysNeededAndFreeInBytesAndGigabytes) {
  const std::string message = refusal(drive(7.68), 5);
  EXPECT_NE(message.find("/mnt/nvme0"), std::string::npos);
  EXPECT_NE(message.find("8180770000000 bytes (8180.77 GB) needed"), std::string::npos) << message;
  EXPECT_NE(message.find("7680000000000 bytes (7680.00 GB) free"), std::string::npos) << message;
}

TEST(CheckpointsPerPass, SaysWhatTheNumberFollowsFrom) {
  EXPECT_EQ(checkpoints_per_pass({drive(7.68)}, 2, 0.87).reason, "as asked");
  EXPECT_EQ(checkpoints_per_pass({drive(7.68)}, std::nullopt, 0.87).reason,
            "auto: 0.87 of the size of /mnt/nvme0");
  TargetSpace target = drive(7.68);
  target.available_bytes = 2 * kCheckpoint;
  EXPECT_NE(checkpoints_per_pass({target}, std::nullopt, 0.87).reason.find("free on /mnt/nvme0"),
            std::string::npos);
}

TEST(CheckpointsPerPass, FilesAndFoldersAreCountedAsWellAsBytes) {
  TargetSpace target = drive(7.68);
  target.checkpoint_files = 520;
  target.available_files = 1045;  // 520 files, a folder and a manifest each, and the run's folder
  EXPECT_EQ(checkpoints_per_pass({target}, 2, 0.87).checkpoints, 2);
  EXPECT_NE(refusal(target, 3).find("1567 files and folders are needed"), std::string::npos);
  EXPECT_NE(refusal(target, std::nullopt).find("room for 1045"), std::string::npos);
  target.available_files = 1044;
  EXPECT_NE(refusal(target, 2).find("1045 files and folders are needed"), std::string::npos);
  target.own.entries = 1;
  EXPECT_EQ(checkpoints_per_pass({target}, 2, 0.87).checkpoints, 2) << "an earlier run gives its own back";
  target.available_files = UINT64_MAX;
  EXPECT_EQ(checkpoints_per_pass({target}, 4, 0.87).checkpoints, 4) << "a file system without a limit";
}

// What a pass takes at its peak against what is free, a byte either way.
TEST(CheckpointsPerPass, AnAskedNumberFitsToTheByte) {
  struct Row {
    const char* name;
    TargetSpace target;
    std::int64_t checkpoints;
    std::uint64_t needed;
  };
  const std::vector<Row> rows = {
      {"data alone", {.checkpoint_bytes = 4096}, 3, 3 * 4096},
      {"with manifests", {.checkpoint_bytes = 4096, .manifest_bytes = 500}, 3, 3 * 4596},
      {"copying what is written over, once",
       {.checkpoint_bytes = 4096, .manifest_bytes = 500, .rewrite_bytes = 4096},
       3,
       3 * 4596 + 4096},
      {"beside an earlier run, which goes first",
       {.own = {.bytes = 10000}, .checkpoint_bytes = 40960},
       1,
       40960 - 10000},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    TargetSpace target = row.target;
    target.path = "/mnt/nvme0";
    target.file_system = "a";
    target.capacity_bytes = 1'000'000;
    target.available_bytes = row.needed;
    EXPECT_EQ(checkpoints_per_pass({target}, row.checkpoints, 0.87).checkpoints, row.checkpoints);
    target.available_bytes = row.needed - 1;
    EXPECT_NE(refusal(target, row.checkpoints).find("no space"), std::string::npos);
  }
}

TEST(CheckpointsPerPass, AutoLeavesRoomForManifestsAndForWhatCopyingOnWriteNeeds) {
  TargetSpace target = drive(7.68);
  target.checkpoint_bytes = 1'000'000;
  target.available_bytes = 10'210'000;
  EXPECT_EQ(checkpoints_per_pass({target}, std::nullopt, 0.87).checkpoints, 10);
  target.manifest_bytes = 21'001;
  EXPECT_EQ(checkpoints_per_pass({target}, std::nullopt, 0.87).checkpoints, 9);
  target.rewrite_bytes = 1'100'000;
  EXPECT_EQ(checkpoints_per_pass({target}, std::nullopt, 0.87).checkpoints, 8);
  target.rewrite_bytes = 10'210'001;
  EXPECT_NE(refusal(target, std::nullopt), "accepted");
}

TEST(CheckpointsPerPass, TargetsOnOneFileSystemShareInodesLeftoversAndManifests) {
  TargetSpace half = drive(7.68);
  half.checkpoint_bytes = 1000;
  half.manifest_bytes = 10;
  half.checkpoint_files = 10;
  half.own = {.bytes = 50, .entries = 5};
  half.available_bytes = 4040 - 100;
  half.available_files = 2 * 24 + 2 - 10;
  EXPECT_EQ(checkpoints_per_pass({half, half}, 2, 0.87).checkpoints, 2);
  half.available_files -= 1;
  EXPECT_THROW((void)checkpoints_per_pass({half, half}, 2, 0.87), RunFailure);
  half.available_files += 1;
  half.available_bytes -= 1;
  EXPECT_THROW((void)checkpoints_per_pass({half, half}, 2, 0.87), RunFailure);
}

TEST(CopiesOnWrite, IsKnownByTheFileSystemsName) {
  for (const char* type : {"btrfs", "zfs", "bcachefs", "nilfs2"})
    EXPECT_TRUE(copies_on_write(type)) << type;
  for (const char* type : {"ext4", "xfs", "nfs4", "tmpfs", ""})
    EXPECT_FALSE(copies_on_write(type)) << type;
}

TEST(CheckpointsPerPass, AutoRefusesADriveThatHoldsNone) {
  EXPECT_NE(refusal(drive(1.0), std::nullopt).find("needed"), std::string::npos);
  EXPECT_NE(refusal(drive(1.7), std::nullopt).find("fill_fraction"), std::string::npos);
}

}  // namespace
}  // namespace ckptsim::simulator
