#include "storage/drive/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <system_error>

#include "tests/storage/support/mounted.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

TEST(FileSystemFacts, DescribesTheFileSystemOfAFolder) {
  const test::TemporaryFolder folder;
  const FileSystemFacts facts = file_system_facts(folder.path());
  EXPECT_FALSE(facts.type.empty());
  EXPECT_THAT(folder.path().string(), testing::StartsWith(facts.mount_point));
  EXPECT_THAT(facts.mount_options, testing::HasSubstr("rw"));
  EXPECT_GE(facts.block_bytes, 512U);
  EXPECT_EQ(facts.capacity_bytes % facts.block_bytes, 0U);
  EXPECT_GT(facts.capacity_bytes, facts.available_bytes);
  EXPECT_FALSE(facts.read_only);
}

TEST(FileSystemFacts, FollowsLinksToWhereTheyLead) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory_symlink("/proc", folder / "link");
  const FileSystemFacts facts = file_system_facts(folder / "link");
  EXPECT_EQ(facts.type, "proc");
  EXPECT_EQ(facts.mount_point, "/proc");
}

TEST(FileSystemFacts, TellsAMountFromTheFileSystemItIsMountedOn) {
  const test::Mounted tmpfs("tmpfs");
  if (!tmpfs.ok()) GTEST_SKIP() << tmpfs.why_not();
  ASSERT_EQ(mount("none", tmpfs.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m"), 0);
  const FileSystemFacts facts = file_system_facts(tmpfs.path());
  EXPECT_EQ(facts.type, "tmpfs");
  EXPECT_EQ(facts.mount_point, std::filesystem::canonical(tmpfs.path()).string());
  EXPECT_EQ(facts.capacity_bytes, 1048576U);
  EXPECT_TRUE(facts.read_only);
  EXPECT_THAT(facts.mount_options, testing::HasSubstr("ro"));
}

TEST(FileSystemFacts, NamesThePathThatIsMissing) {
  try {
    (void)file_system_facts("/no/such/folder");
    FAIL() << "found facts";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    EXPECT_THAT(error.what(), testing::HasSubstr("/no/such/folder"));
  }
}

}  // namespace
}  // namespace ckptsim::storage
