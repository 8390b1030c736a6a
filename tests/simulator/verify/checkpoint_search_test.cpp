#include "simulator/verify/checkpoint_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <string>
#include <vector>

#include "small_checkpoint.h"
#include "storage/errors.h"

namespace ckptsim::simulator {
namespace {

namespace fs = std::filesystem;
using simulator::testing::SmallCheckpoint;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> found_in(const fs::path& folder) {
  SearchResult result;
  find_checkpoints(folder.string(), result);
  std::vector<std::string> paths;
  for (const FoundCheckpoint& checkpoint : result.checkpoints)
    paths.push_back(fs::canonical(checkpoint.path()).string());
  return paths;
}

std::string refusal(const fs::path& folder) {
  try {
    (void)found_in(folder);
  } catch (const storage::UnsuitableTarget& refused) {
    return refused.what();
  }
  return "";
}

TEST(CheckpointSearch, FindsTheSameFromEveryLevel) {
  const SmallCheckpoint checkpoint;
  const std::string path = fs::canonical(checkpoint.folder()).string();
  EXPECT_THAT(found_in(checkpoint.target()), ElementsAre(path));
  EXPECT_THAT(found_in(checkpoint.target() / "ckptsim"), ElementsAre(path));
  EXPECT_THAT(found_in(checkpoint.target() / "ckptsim" / "small"), ElementsAre(path));
  EXPECT_THAT(found_in(checkpoint.folder()), ElementsAre(path));
}

TEST(CheckpointSearch, FindsACopyElsewhere) {
  const SmallCheckpoint checkpoint;
  const test::TemporaryFolder elsewhere;
  fs::copy(checkpoint.folder(), elsewhere / "copy", fs::copy_options::recursive);
  EXPECT_EQ(found_in(elsewhere / "copy").size(), 1U);
}

TEST(CheckpointSearch, RefusesWhatHoldsNone) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(refusal(folder.path()), HasSubstr("holds no checkpoint"));
  EXPECT_THAT(refusal(folder / "none"), HasSubstr("No such file"));
  fs::create_directory(folder / "ckptsim");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("holds no checkpoint")) << "not marked";
}

TEST(CheckpointSearch, RefusesADamagedMarkerAsARunDoesAndStillReachesWhatIsBelow) {
  const SmallCheckpoint checkpoint;
  const fs::path marker = checkpoint.target() / "ckptsim" / ".ckptsim-directory";
  std::string text = test::read_file(marker);
  text[5] ^= 1;
  test::write_text(marker, text);
  for (const fs::path& folder : {checkpoint.target(), checkpoint.target() / "ckptsim"})
    EXPECT_THAT(refusal(folder), HasSubstr("is not the marker that this version writes"));
  EXPECT_EQ(found_in(checkpoint.folder().parent_path()).size(), 1U);
  EXPECT_EQ(found_in(checkpoint.folder()).size(), 1U);
  fs::remove(marker);
  fs::create_symlink("elsewhere", marker);
  EXPECT_THAT(refusal(checkpoint.target()), HasSubstr("is a link"));
}

TEST(CheckpointSearch, RefusesLinksAtEveryLevelBelowTheNamedFolder) {
  const SmallCheckpoint checkpoint;
  const test::TemporaryFolder other;
  fs::create_directory_symlink(checkpoint.target() / "ckptsim", other / "ckptsim");
  EXPECT_THAT(refusal(other.path()), HasSubstr("is a link"));
  fs::create_directory_symlink(checkpoint.folder(), checkpoint.folder().parent_path() / "checkpoint_02");
  EXPECT_THAT(refusal(checkpoint.target()), HasSubstr("checkpoint_02 is a link"));
  fs::remove(checkpoint.folder().parent_path() / "checkpoint_02");
  fs::create_directory_symlink(checkpoint.folder().parent_path(), checkpoint.target() / "ckptsim" / "run2");
  EXPECT_THAT(refusal(checkpoint.target()), HasSubstr("run2 is a link"));
}

TEST(CheckpointSearch, IsRefusedWhileARunHoldsTheLockFromEveryLevel) {
  const SmallCheckpoint checkpoint;
  const fs::path lock_file = checkpoint.target() / "ckptsim" / ".lock";
  test::write_text(lock_file, "pid 4711 on host far since 2026-11-30T18:37:50Z\n");
  const storage::Descriptor lock(open(lock_file.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  for (const fs::path& folder : {checkpoint.target(), checkpoint.target() / "ckptsim",
                                 checkpoint.folder().parent_path(), checkpoint.folder()})
    EXPECT_THAT(refusal(folder), HasSubstr("pid 4711"));
}

TEST(CheckpointSearch, ListsFilesInOneFolderBelow) {
  const SmallCheckpoint checkpoint;
  fs::create_directory(checkpoint.folder() / "sub");
  test::write_text(checkpoint.folder() / "sub" / "d.pt", "x");
  SearchResult result;
  find_checkpoints(checkpoint.folder().string(), result);
  const auto listing = list_checkpoint(open_checkpoint(result.checkpoints.at(0)));
  EXPECT_TRUE(listing.contains("a.pt"));
  EXPECT_TRUE(listing.contains("sub/d.pt"));
  EXPECT_TRUE(listing.contains("manifest.json"));
  EXPECT_EQ(listing.size(), 5U);
}

}  // namespace
}  // namespace ckptsim::simulator
