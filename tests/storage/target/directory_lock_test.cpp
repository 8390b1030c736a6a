#include "storage/target/directory_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "storage/errors.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

using test::read_file;
using test::write_text;
using testing::AllOf;
using testing::HasSubstr;

class DirectoryLocking : public testing::Test {
 protected:
  [[nodiscard]] Folder folder() const {
    return {Descriptor(open(place_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), place_.path()};
  }

  // To flock(2), a descriptor that was opened elsewhere is another process's.
  [[nodiscard]] Descriptor stranger() const {
    return Descriptor(open((place_ / kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  }
  [[nodiscard]] bool stranger_gets_it() const { return flock(stranger().get(), LOCK_EX | LOCK_NB) == 0; }

  [[nodiscard]] std::string refusal() const {
    try {
      const DirectoryLock lock(folder());
    } catch (const UnsuitableTarget& refusal) {
      return refusal.what();
    }
    return "(not refused)";
  }

  test::TemporaryFolder place_;
};

TEST_F(DirectoryLocking, RefusesWhileAnotherHoldsItAndNamesThatOne) {
  {
    const Descriptor other = stranger();
    ASSERT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), 0);
    write_text(place_ / kLockFile, "pid 4711 on host far since 2026-11-30T18:37:50Z\n");
    EXPECT_THAT(refusal(), AllOf(HasSubstr("another run is using " + place_.path().string()),
                                 HasSubstr("pid 4711 on host far")));
  }
  EXPECT_EQ(refusal(), "(not refused)");
}

TEST_F(DirectoryLocking, WritesItsOwnLineWhereTheHolderChanges) {
  write_text(place_ / kLockFile,
             "pid 4711 on host far since 2026-11-30T18:37:50Z, and longer than ours is\n");
  const DirectoryLock lock(folder());
  EXPECT_THAT(read_file(place_ / kLockFile),
              AllOf(HasSubstr("pid " + std::to_string(getpid()) + " on host "), HasSubstr(" since 20"),
                    testing::Not(HasSubstr("4711")), testing::Not(HasSubstr("longer"))));
}

TEST_F(DirectoryLocking, IsSharedInsideAProcessAndGoesWithTheLastShareInEitherOrder) {
  for (const bool first_goes_first : {true, false}) {
    std::optional<DirectoryLock> first(folder());
    const std::string line = read_file(place_ / kLockFile);
    std::optional<DirectoryLock> second(folder());
    EXPECT_FALSE(stranger_gets_it());
    (first_goes_first ? first : second).reset();
    EXPECT_FALSE(stranger_gets_it()) << first_goes_first;
    EXPECT_EQ(read_file(place_ / kLockFile), line);
    (first_goes_first ? second : first).reset();
    EXPECT_TRUE(stranger_gets_it()) << first_goes_first;
  }
}

TEST_F(DirectoryLocking, ARefusedShareLeavesNothingBehind) {
  {
    const Descriptor other = stranger();
    ASSERT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), 0);
    EXPECT_NE(refusal(), "(not refused)");
  }
  EXPECT_TRUE(stranger_gets_it());
  const DirectoryLock lock(folder());
  EXPECT_FALSE(stranger_gets_it());
}

// `clean` removes the lock file that it holds.
TEST_F(DirectoryLocking, ALockFileThatWasRemovedAndMadeAgainIsTwoLocksAndNeverTheOldOne) {
  std::optional<DirectoryLock> old(folder());
  std::filesystem::remove(place_ / kLockFile);
  const DirectoryLock fresh(folder());
  EXPECT_FALSE(stranger_gets_it());
  old.reset();
  EXPECT_FALSE(stranger_gets_it());
}

TEST_F(DirectoryLocking, AFolderThatIsGoneIsNoFolderToLock) {
  const std::filesystem::path gone = place_ / "gone";
  std::filesystem::create_directory(gone);
  const Folder folder{Descriptor(open(gone.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), gone};
  std::filesystem::remove(gone);
  try {
    const DirectoryLock lock(folder);
    ADD_FAILURE() << "locked a folder that is gone";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
  }
}

TEST_F(DirectoryLocking, WritesToNoFileThatHasAnotherName) {
  write_text(place_ / "elsewhere", "precious");
  std::filesystem::create_hard_link(place_ / "elsewhere", place_ / kLockFile);
  EXPECT_THAT(refusal(), HasSubstr("hard link"));
  EXPECT_EQ(read_file(place_ / "elsewhere"), "precious");
}

TEST_F(DirectoryLocking, RefusesWhatIsNoFile) {
  ASSERT_EQ(mkfifo((place_ / kLockFile).c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("no file"));
  std::filesystem::remove(place_ / kLockFile);
  std::filesystem::create_directory(place_ / kLockFile);
  EXPECT_THAT(refusal(), HasSubstr("no file"));
}

TEST_F(DirectoryLocking, MovesWithItsOwner) {
  DirectoryLock owner;
  {
    DirectoryLock first(folder());
    owner = std::move(first);
  }
  EXPECT_FALSE(stranger_gets_it());
  { const DirectoryLock last(std::move(owner)); }
  EXPECT_TRUE(stranger_gets_it());
}

TEST_F(DirectoryLocking, LocksOfTwoFoldersAreTwo) {
  const test::TemporaryFolder elsewhere;
  const Folder other{Descriptor(open(elsewhere.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                     elsewhere.path()};
  const DirectoryLock of_the_other(other);
  { const DirectoryLock lock(folder()); }
  EXPECT_TRUE(stranger_gets_it());
}

TEST_F(DirectoryLocking, ThreadsThatTakeItAndGiveItUpAreNeverRefused) {
  std::vector<std::string> refusals(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(refusals.size());
    for (std::string& of_thread : refusals) {
      threads.emplace_back([this, &of_thread] {
        for (int i = 0; i < 500; ++i) {
          const std::string text = refusal();
          if (text != "(not refused)") of_thread = text;
        }
      });
    }
  }
  EXPECT_THAT(refusals, testing::Each(""));
  EXPECT_TRUE(stranger_gets_it());
}

}  // namespace
}  // namespace ckptsim::storage
