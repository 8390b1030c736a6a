#include "storage/target/marked_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "storage/errors.h"
#include "tests/storage/support/mounted.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::TemporaryFolder;
using test::write_text;
using testing::AllOf;
using testing::HasSubstr;

std::string refusal_of(const fs::path& target) {
  try {
    const MarkedDirectory directory(target);
  } catch (const UnsuitableTarget& refusal) {
    return refusal.what();
  }
  return "(not refused)";
}

TEST(MarkedDirectory, MakesItsFolderWithMarkerAndLock) {
  const TemporaryFolder target;
  const MarkedDirectory directory(target.path());
  EXPECT_EQ(directory.path(), target / "ckptsim");
  EXPECT_EQ(read_file(target / "ckptsim/.ckptsim-directory"), "{\"schema\":\"ckptsim.target/1\"}\n");
  EXPECT_TRUE(fs::is_regular_file(target / "ckptsim/.lock"));
  EXPECT_FALSE(fs::exists(target / "ckptsim/.ckptsim-directory.tmp"));
}

TEST(MarkedDirectory, LivesBesideWhatElseTheTargetHolds) {
  const TemporaryFolder target;
  fs::create_directory(target / "lost+found");
  write_text(target / "notes.txt", "mine");
  { const MarkedDirectory directory(target.path()); }
  EXPECT_EQ(read_file(target / "notes.txt"), "mine");
  EXPECT_TRUE(fs::is_directory(target / "lost+found"));
}

TEST(MarkedDirectory, AdoptsAnEmptyFolderAndOneThatWasLeftBetweenLockAndMarker) {
  const TemporaryFolder target;
  fs::create_directory(target / "ckptsim");
  { const MarkedDirectory directory(target.path()); }
  fs::remove(target / "ckptsim/.ckptsim-directory");
  write_text(target / "ckptsim/.ckptsim-directory.tmp", "{\"sch");
  const MarkedDirectory directory(target.path());
  EXPECT_TRUE(fs::exists(target / "ckptsim/.ckptsim-directory"));
}

TEST(MarkedDirectory, CanBeUsedAgainWithAllThatIsInIt) {
  const TemporaryFolder target;
  { MarkedDirectory(target.path()).make_checkpoint_folder("run", 1); }
  const MarkedDirectory again(target.path());
  EXPECT_TRUE(fs::is_directory(target / "ckptsim/run/checkpoint_01"));
}

TEST(MarkedDirectory, RefusesAnUnmarkedFolderThatHoldsSomethingAndLeavesItAsItWas) {
  const TemporaryFolder target;
  fs::create_directory(target / "ckptsim");
  write_text(target / "ckptsim/thesis.tex", "years of work");
  EXPECT_THAT(refusal_of(target.path()),
              AllOf(HasSubstr((target / "ckptsim").string()), HasSubstr("thesis.tex")));
  EXPECT_FALSE(fs::exists(target / "ckptsim/.lock"));
  EXPECT_FALSE(fs::exists(target / "ckptsim/.ckptsim-directory"));
}

TEST(MarkedDirectory, RefusesAnUnmarkedFolderWhoseLockOrMarkersTemporaryItDidNotWrite) {
  const TemporaryFolder target;
  fs::create_directory(target / "ckptsim");
  const std::string line = "pid 1 on host gone since 2020-01-01T00:00:00Z\n";
  const std::string marker = "{\"schema\":\"ckptsim.target/1\"}\n";
  struct Case {
    const char* name;
    std::string text;
  };
  for (const Case& one :
       {Case{".lock", "years of work"}, Case{".lock", "\n"}, Case{".lock", line + "more"},
        Case{".lock", "more " + line}, Case{".lock", line + line},
        Case{".lock", line + std::string(10000, ' ')}, Case{".ckptsim-directory.tmp", "years"},
        Case{".ckptsim-directory.tmp", marker + "more"}}) {
    SCOPED_TRACE(one.name + (": " + one.text.substr(0, 80)));
    write_text(target / "ckptsim" / one.name, one.text);
    EXPECT_THAT(refusal_of(target.path()),
                AllOf(HasSubstr((target / "ckptsim").string()), HasSubstr(one.name), HasSubstr("no marker")));
    EXPECT_THROW((void)MarkedDirectory::survey(target.path(), "run"), UnsuitableTarget);
    EXPECT_EQ(read_file(target / "ckptsim" / one.name), one.text);
    EXPECT_EQ(std::distance(fs::directory_iterator(target / "ckptsim"), fs::directory_iterator()), 1);
    fs::remove(target / "ckptsim" / one.name);
  }
}

TEST(MarkedDirectory, AdoptsWhateverAKillLeavesOfALockAndAMarkersTemporary) {
  const std::string marker = "{\"schema\":\"ckptsim.target/1\"}\n";
  for (const std::string& lock :
       {std::string(), std::string("pid 1 on host gone since 2020-01-01T00:00:00Z\n")}) {
    for (std::size_t length = 0; length <= marker.size(); ++length) {
      const TemporaryFolder target;
      fs::create_directory(target / "ckptsim");
      write_text(target / "ckptsim/.lock", lock);
      write_text(target / "ckptsim/.ckptsim-directory.tmp", marker.substr(0, length));
      EXPECT_EQ(refusal_of(target.path()), "(not refused)") << lock << length;
      EXPECT_EQ(read_file(target / "ckptsim/.ckptsim-directory"), marker);
    }
  }
}

TEST(MarkedDirectory, RefusesAMarkerThatItDidNotWrite) {
  const TemporaryFolder target;
  fs::create_directory(target / "ckptsim");
  write_text(target / "ckptsim/.ckptsim-directory", "{\"schema\":\"ckptsim.target/2\"}\n");
  EXPECT_THAT(refusal_of(target.path()), HasSubstr("this version"));
}

TEST(MarkedDirectory, RefusesLinksInPlaceOfItsFolderItsMarkerAndItsLock) {
  const TemporaryFolder target;
  const TemporaryFolder elsewhere;
  fs::create_directory_symlink(elsewhere.path(), target / "ckptsim");
  EXPECT_THAT(refusal_of(target.path()), HasSubstr("is a link"));
  fs::remove(target / "ckptsim");

  fs::create_directory(target / "ckptsim");
  write_text(elsewhere / "marker", "{\"schema\":\"ckptsim.target/1\"}\n");
  fs::create_symlink(elsewhere / "marker", target / "ckptsim/.ckptsim-directory");
  EXPECT_THAT(refusal_of(target.path()), HasSubstr("is a link"));
  fs::remove(target / "ckptsim/.ckptsim-directory");

  write_text(target / "ckptsim/.ckptsim-directory", "{\"schema\":\"ckptsim.target/1\"}\n");
  fs::create_symlink(elsewhere / "lock", target / "ckptsim/.lock");
  EXPECT_THAT(refusal_of(target.path()), HasSubstr("is a link"));
  EXPECT_FALSE(fs::exists(elsewhere / "lock"));
}

TEST(MarkedDirectory, RefusesLinksInPlaceOfTheFoldersOfRunsAndCheckpoints) {
  const TemporaryFolder target;
  const TemporaryFolder elsewhere;
  MarkedDirectory directory(target.path());
  fs::create_directory_symlink(elsewhere.path(), target / "ckptsim/run");
  EXPECT_THROW(directory.make_checkpoint_folder("run", 1), UnsuitableTarget);
  EXPECT_THROW((void)directory.remove_run("run"), UnsuitableTarget);
  EXPECT_THROW((void)directory.run_contents("run"), UnsuitableTarget);
  EXPECT_TRUE(fs::is_empty(elsewhere.path()));

  directory.make_checkpoint_folder("other", 1);
  write_text(elsewhere / "manifest.json", "not ours");
  fs::create_directory_symlink(elsewhere.path(), target / "ckptsim/other/checkpoint_02");
  EXPECT_THROW(directory.make_checkpoint_folder("other", 2), UnsuitableTarget);
  EXPECT_THROW(directory.remove_manifests("other", 2), UnsuitableTarget);
  EXPECT_THROW(directory.remove_checkpoint("other", 2), UnsuitableTarget);
  EXPECT_THROW(directory.publish_manifest("other", 2, "manifest.json", "text"), UnsuitableTarget);
  EXPECT_EQ(read_file(elsewhere / "manifest.json"), "not ours");
}

TEST(MarkedDirectory, TheTextOfADeadRunsLockIsNoLock) {
  const TemporaryFolder target;
  fs::create_directory(target / "ckptsim");
  write_text(target / "ckptsim/.lock",
             "pid 1 on host gone-for-ever-and-of-a-name-longer-than-ours-is-without-any-doubt-at-all since "
             "2020-01-01T00:00:00Z\n");
  const MarkedDirectory directory(target.path());
  EXPECT_THAT(read_file(target / "ckptsim/.lock"),
              AllOf(HasSubstr("pid " + std::to_string(getpid())), testing::Not(HasSubstr("gone"))));
}

TEST(MarkedDirectory, SaysWhenTheTargetIsMissingOrAFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal_of(folder / "missing"),
              AllOf(HasSubstr((folder / "missing").string()), HasSubstr("does not exist")));
  write_text(folder / "file", "");
  EXPECT_THAT(refusal_of(folder / "file"),
              AllOf(HasSubstr((folder / "file").string()), HasSubstr("not a directory")));
}

// The user of the test, or nobody where root runs it.
class OrdinaryUser {
 public:
  OrdinaryUser() { changed_ = geteuid() == 0 && seteuid(65534) == 0; }
  ~OrdinaryUser() {
    if (changed_ && seteuid(0) != 0) std::abort();
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

 private:
  bool changed_ = false;
};

TEST(MarkedDirectory, SaysWhenTheTargetMayNotBeWritten) {
  const TemporaryFolder target;
  fs::permissions(target.path(), fs::perms(0555));
  const fs::path old_place = fs::current_path();
  fs::current_path(target.path());  // the folders above may be closed to nobody
  std::string refusal;
  {
    const OrdinaryUser user;
    refusal = refusal_of(".");
  }
  fs::current_path(old_place);
  fs::permissions(target.path(), fs::perms(0755));
  EXPECT_THAT(refusal, AllOf(HasSubstr("may not be written"), HasSubstr("target .")));
}

TEST(MarkedDirectory, SaysWhenTheTargetIsReadOnly) {
  const test::Mounted mounted("tmpfs");
  if (!mounted.ok()) GTEST_SKIP() << mounted.why_not();
  const auto make_read_only = [&](unsigned long more) {
    return mount("none", mounted.path().c_str(), "tmpfs", MS_REMOUNT | more, "");
  };
  ASSERT_EQ(make_read_only(MS_RDONLY), 0);
  EXPECT_THAT(refusal_of(mounted.path()), AllOf(HasSubstr(mounted.path().string()), HasSubstr("read-only")));
  ASSERT_EQ(make_read_only(0), 0);
  { const MarkedDirectory directory(mounted.path()); }
  ASSERT_EQ(make_read_only(MS_RDONLY), 0);
  EXPECT_THAT(refusal_of(mounted.path()), AllOf(HasSubstr(mounted.path().string()), HasSubstr("read-only")));
}

TEST(MarkedDirectory, MakesCheckpointFoldersAsOftenAsItIsAsked) {
  const TemporaryFolder target;
  MarkedDirectory directory(target.path());
  directory.make_checkpoint_folder("run", 7);
  directory.make_checkpoint_folder("run", 7);
  directory.make_checkpoint_folder("run", 123);
  EXPECT_EQ(MarkedDirectory::checkpoint_path(target.path(), "run", 7), target / "ckptsim/run/checkpoint_07");
  EXPECT_TRUE(fs::is_directory(target / "ckptsim/run/checkpoint_07"));
  EXPECT_TRUE(fs::is_directory(target / "ckptsim/run/checkpoint_123"));
}

TEST(MarkedDirectory, RefusesRunNamesThatLeadElsewhere) {
  const TemporaryFolder target;
  MarkedDirectory directory(target.path());
  for (const char* name : {"", ".", "..", "a/b", "../ckptsim", "/tmp", ".lock"}) {
    EXPECT_THROW(directory.make_checkpoint_folder(name, 1), UnsuitableTarget) << name;
    EXPECT_THROW((void)directory.remove_run(name), UnsuitableTarget) << name;
  }
}

TEST(MarkedDirectory, PublishingReplacesNoLinkAndWritesToNoFileThatHasAnotherName) {
  const TemporaryFolder target;
  MarkedDirectory directory(target.path());
  directory.make_checkpoint_folder("run", 1);
  const fs::path folder = target / "ckptsim/run/checkpoint_01";
  write_text(target / "elsewhere", "precious");
  for (const char* name : {"manifest.json", "manifest.json.tmp"}) {
    fs::create_symlink(target / "elsewhere", folder / name);
    EXPECT_THROW(directory.publish_manifest("run", 1, "manifest.json", "text"), UnsuitableTarget) << name;
    EXPECT_TRUE(fs::is_symlink(folder / name));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
    fs::remove(folder / name);
    fs::create_hard_link(target / "elsewhere", folder / name);
    EXPECT_NO_THROW(directory.publish_manifest("run", 1, "manifest.json", "text")) << name;
    EXPECT_EQ(read_file(folder / "manifest.json"), "text");
    EXPECT_EQ(read_file(target / "elsewhere"), "precious");
    fs::remove(folder / "manifest.json");
  }
}

TEST(MarkedDirectory, OpensACheckpointsFolderLevelByLevel) {
  const TemporaryFolder target;
  const TemporaryFolder elsewhere;
  MarkedDirectory(target.path()).make_checkpoint_folder("run", 1);
  EXPECT_TRUE(MarkedDirectory::open_checkpoint(target.path(), "run", 1).exists());
  EXPECT_THROW((void)MarkedDirectory::open_checkpoint(target.path(), "run", 2), std::system_error);
  fs::create_directories(elsewhere / "ckptsim/run/checkpoint_01");
  for (const char* level : {"ckptsim/run/checkpoint_01", "ckptsim/run", "ckptsim"}) {
    fs::rename(target / level, target / "moved");
    fs::create_directory_symlink(elsewhere / level, target / level);
    EXPECT_THROW((void)MarkedDirectory::open_checkpoint(target.path(), "run", 1), UnsuitableTarget) << level;
    fs::remove(target / level);
    fs::rename(target / "moved", target / level);
  }
  fs::create_directory_symlink(target.path(), elsewhere / "target");
  EXPECT_TRUE(MarkedDirectory::open_checkpoint(elsewhere / "target", "run", 1).exists())
      << "the target itself may be a link";
}

TEST(MarkedDirectory, FindsTheMarkedFolderAroundAPath) {
  const TemporaryFolder target;
  MarkedDirectory(target.path()).make_checkpoint_folder("run", 1);
  const fs::path marked = fs::canonical(target / "ckptsim");
  EXPECT_EQ(MarkedDirectory::marked_folder_around(target.path()), "");
  EXPECT_EQ(MarkedDirectory::marked_folder_around(target / "results/new"), "");
  for (const char* inside : {"ckptsim", "ckptsim/run", "ckptsim/not/there/yet", "ckptsim/run/../x"})
    EXPECT_EQ(MarkedDirectory::marked_folder_around(target / inside), marked) << inside;
  EXPECT_EQ(MarkedDirectory::marked_folder_around(fs::relative(target / "ckptsim/new")), marked);
  fs::create_directory_symlink(target / "ckptsim/run", target / "link");
  EXPECT_EQ(MarkedDirectory::marked_folder_around(target / "link/results"), marked);
}

TEST(MarkedDirectory, PublishesAManifestAndLeavesNoTemporary) {
  const TemporaryFolder target;
  MarkedDirectory directory(target.path());
  directory.make_checkpoint_folder("run", 1);
  directory.publish_manifest("run", 1, "manifest.json", "first");
  directory.publish_manifest("run", 1, "manifest.json", "second");
  directory.publish_manifest("run", 1, "manifest-host.json", std::string(100000, 'm'));
  const fs::path folder = target / "ckptsim/run/checkpoint_01";
  EXPECT_EQ(read_file(folder / "manifest.json"), "second");
  EXPECT_EQ(read_file(folder / "manifest-host.json"), std::string(100000, 'm'));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
}

TEST(MarkedDirectory, AManifestThatCannotBePublishedLeavesNoTemporaryAndTheOldOneWhole) {
  const TemporaryFolder target;
  MarkedDirectory directory(target.path());
  directory.make_checkpoint_folder("run", 1);
  const fs::path folder = target / "ckptsim/run/checkpoint_01";
  fs::create_directory(folder / "manifest.json");  // a file cannot be renamed to a folder
  EXPECT_THROW(directory.publish_manifest("run", 1, "manifest.json", "text"), std::system_error);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST(MarkedDirectory, RefusesToPublishWhatItWouldNotRecogniseAsAManifest) {
  const TemporaryFolder target;
  MarkedDirectory directory(target.path());
  directory.make_checkpoint_folder("run", 1);
  EXPECT_THROW(directory.publish_manifest("run", 1, "summary.json", ""), std::invalid_argument);
  EXPECT_THROW(directory.publish_manifest("run", 1, "manifest/../x.json", ""), std::invalid_argument);
  EXPECT_THROW(directory.publish_manifest("run", 2, "manifest.json", ""), std::system_error);
}

TEST(MarkedDirectory, TrimsWhereTheFileSystemCanAndSaysWhereItCannot) {
  const test::Mounted tmpfs("tmpfs");
  if (!tmpfs.ok()) GTEST_SKIP() << tmpfs.why_not();
  EXPECT_THROW(MarkedDirectory(tmpfs.path()).trim(), std::system_error);
  const test::Mounted ext4(std::uint64_t{8} << 20, "");
  if (!ext4.ok()) GTEST_SKIP() << ext4.why_not();
  EXPECT_NO_THROW(MarkedDirectory(ext4.path()).trim());
}

}  // namespace
}  // namespace ckptsim::storage
