#include "storage/target/directory_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "storage/errors.h"
#include "storage/target/marked_directory.h"
#include "tests/storage/support/mounted.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

namespace fs = std::filesystem;
using test::write_text;
using testing::ElementsAre;
using testing::HasSubstr;

class DirectorySurvey : public testing::Test {
 protected:
  DirectorySurvey() {
    MarkedDirectory directory(target_.path());
    for (const char* run : {"mine", "other", "tune"}) {
      directory.make_checkpoint_folder(run, 1);
      write_text(target_ / "ckptsim" / run / "checkpoint_01/mp_rank_00_model_states.pt", "a");
      directory.publish_manifest(run, 1, "manifest.json", "{}");
    }
    write_text(target_ / "notes.txt", "beside ckptsim/, where anything may be");
    fs::create_directory(target_ / "lost+found");
  }

  [[nodiscard]] std::string refusal() const {
    try {
      (void)MarkedDirectory::survey(target_.path(), "mine");
    } catch (const UnsuitableTarget& refused) {
      return refused.what();
    }
    return "(not refused)";
  }

  test::TemporaryFolder target_;
};

TEST_F(DirectorySurvey, KnowsTheRunsAndWhatAKillLeaves) {
  write_text(target_ / "ckptsim/.ckptsim-probe-aB3xYz", "");
  write_text(target_ / "ckptsim/.ckptsim-directory.tmp", "");
  const Folder directory = open_folder(open_target(target_.path()), kMarkedDirectory);
  const DirectoryContents contents = survey_directory(directory);
  EXPECT_THAT(contents.runs, ElementsAre("mine", "other", "tune"));
  EXPECT_THAT(contents.strays, ElementsAre(".ckptsim-directory.tmp", ".ckptsim-probe-aB3xYz"));
  EXPECT_EQ(refusal(), "(not refused)");
  EXPECT_EQ(MarkedDirectory(target_.path()).remove_strays(), 2U);
  EXPECT_FALSE(fs::exists(target_ / "ckptsim/.ckptsim-probe-aB3xYz"));
  EXPECT_TRUE(fs::exists(target_ / "ckptsim/other/checkpoint_01/mp_rank_00_model_states.pt"));
}

TEST_F(DirectorySurvey, CountsWhatTheRunOfThatNameHolds) {
  const Contents contents = MarkedDirectory::survey(target_.path(), "mine");
  EXPECT_EQ(contents.checkpoints, 1U);
  EXPECT_EQ(contents.files, 2U);
  EXPECT_EQ(contents.entries, 3U);
  EXPECT_EQ(contents.file_bytes, 3U);
  EXPECT_EQ(MarkedDirectory::survey(target_.path(), "never").entries, 0U);
}

TEST_F(DirectorySurvey, RefusesWhatThisProgramDidNotMakeAtEveryLevelOfEveryRun) {
  const fs::path marked = target_ / "ckptsim";
  const auto file = [](const fs::path& path) { write_text(path, "foreign"); };
  const auto folder = [](const fs::path& path) { fs::create_directory(path); };
  const auto link = [this](const fs::path& path) { fs::create_symlink(target_ / "notes.txt", path); };
  const auto link_to_folder = [this](const fs::path& path) {
    fs::create_directory_symlink(target_ / "lost+found", path);
  };
  const auto fifo = [](const fs::path& path) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); };
  struct Row {
    const char* name;
    std::function<void(const fs::path&)> make;
  };
  for (const Row& row :
       std::vector<Row>{{"thesis.tex", file},
                        {".hidden", file},
                        {".hidden-folder", folder},
                        {".ckptsim-probe-", file},
                        {".ckptsim-probe-aB3xY", file},
                        {".ckptsim-probe-aB3x.z", file},
                        {".ckptsim-probe-aB3xYz", link},
                        {".ckptsim-directory.tmp", folder},
                        {"run", link_to_folder},
                        {"pipe", fifo},
                        {"other/notes", file},
                        {"other/checkpoint_1", folder},
                        {"other/checkpoint_02", file},
                        {"other/checkpoint_02", link_to_folder},
                        {"other/checkpoint_01/notes", file},
                        {"other/checkpoint_01/mp_rank_01_model_states.pt", link},
                        {"other/checkpoint_01/mp_rank_01_model_states.pt", fifo},
                        {"other/checkpoint_01/my_thesis_model.pt", file},
                        {"other/checkpoint_01/mine", folder},
                        {"other/checkpoint_01/zero_pp_rank_0_mp_rank_00_optim_states.pt", folder},
                        {"other/checkpoint_01/manifest_of_cargo.json", file},
                        {"other/checkpoint_01/manifest-.json", file},
                        {"other/checkpoint_01/manifest-x.json", link},
                        {"other/checkpoint_01/line\nfeed", file},
                        {"mine/checkpoint_01/part", link_to_folder}}) {
    SCOPED_TRACE(row.name);
    const fs::path path = marked / row.name;
    row.make(path);
    EXPECT_THAT(refusal(), HasSubstr(path.string()));
    fs::remove(path);
    EXPECT_EQ(refusal(), "(not refused)");
  }
}

TEST_F(DirectorySurvey, AFolderWithoutMarkerIsRefusedAsWhole) {
  fs::remove(target_ / "ckptsim/.ckptsim-directory");
  EXPECT_THAT(refusal(), HasSubstr("no marker"));
}

TEST_F(DirectorySurvey, AMarkerThatIsNoFileIsRefused) {
  fs::remove(target_ / "ckptsim/.ckptsim-directory");
  ASSERT_EQ(mkfifo((target_ / "ckptsim/.ckptsim-directory").c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("not the marker"));
}

// A mount for as long as this lives, in a namespace of this process alone (test::Mounted has made it).
class BindMount {
 public:
  BindMount(const fs::path& what, fs::path where) : where_(std::move(where)) {
    ok_ = mount(what.c_str(), where_.c_str(), nullptr, MS_BIND, nullptr) == 0;
  }
  ~BindMount() { umount2(where_.c_str(), MNT_DETACH); }
  BindMount(const BindMount&) = delete;
  BindMount& operator=(const BindMount&) = delete;
  [[nodiscard]] bool ok() const noexcept { return ok_; }

 private:
  fs::path where_;
  bool ok_ = false;
};

TEST_F(DirectorySurvey, RefusesMountPointsAtEveryLevelOfTheSameFileSystemToo) {
  const test::Mounted other("tmpfs");
  if (!other.ok()) GTEST_SKIP() << other.why_not();
  fs::create_directories(target_ / "same/checkpoint_01");
  write_text(target_ / "same/.ckptsim-directory", kMarkerText);
  write_text(other.path() / ".ckptsim-directory", kMarkerText);
  for (const char* level : {"ckptsim", "ckptsim/mine", "ckptsim/mine/checkpoint_01", "ckptsim/other"}) {
    for (const fs::path& what : {other.path(), target_ / "same"}) {
      SCOPED_TRACE(level);
      const BindMount mounted(what, target_ / level);
      ASSERT_TRUE(mounted.ok());
      EXPECT_THAT(refusal(), testing::AllOf(HasSubstr((target_ / level).string()), HasSubstr("mount")));
      if (std::string(level) == "ckptsim") {
        EXPECT_THROW(MarkedDirectory{target_.path()}, UnsuitableTarget);
      }
    }
  }
  {
    const fs::path file = target_ / "ckptsim/mine/checkpoint_01/mp_rank_00_model_states.pt";
    const BindMount mounted(target_ / "notes.txt", file);
    ASSERT_TRUE(mounted.ok());
    EXPECT_THAT(refusal(), testing::AllOf(HasSubstr(file.string()), HasSubstr("mounted")));
    MarkedDirectory directory(target_.path());
    EXPECT_THROW(directory.remove_manifests("mine", 1), UnsuitableTarget);
  }
  EXPECT_EQ(refusal(), "(not refused)");
}

}  // namespace
}  // namespace ckptsim::storage
