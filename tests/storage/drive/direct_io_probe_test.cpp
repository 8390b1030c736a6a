#include "storage/drive/direct_io_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "storage/errors.h"
#include "tests/storage/support/mounted.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal_of(const std::filesystem::path& folder) {
  try {
    (void)prove_direct_io(folder);
  } catch (const UnsuitableTarget& refusal) {
    return refusal.what();
  }
  return "(not refused)";
}

// Fails, as it should, where the build folder lies on a file system without direct I/O.
TEST(DirectIoProbe, FindsDirectIoWhereThereIsSomeAndLeavesNothingBehind) {
  const test::TemporaryFolder folder;
  const DirectIoFacts facts = prove_direct_io(folder.path());
  EXPECT_GE(facts.io_alignment, 4096U);
  EXPECT_EQ(facts.io_alignment & (facts.io_alignment - 1), 0U);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(DirectIoProbe, RefusesTmpfsWhichAcceptsTheFlagAndCaches) {
  const test::Mounted tmpfs("tmpfs");
  if (!tmpfs.ok()) GTEST_SKIP() << tmpfs.why_not();
  EXPECT_THAT(refusal_of(tmpfs.path()),
              AllOf(HasSubstr(tmpfs.path().string()), HasSubstr("(tmpfs)"), HasSubstr("--backend buffered")));
  EXPECT_TRUE(std::filesystem::is_empty(tmpfs.path()));
}

TEST(DirectIoProbe, RefusesRamfsWhichRefusesTheFlag) {
  const test::Mounted ramfs("ramfs");
  if (!ramfs.ok()) GTEST_SKIP() << ramfs.why_not();
  EXPECT_THAT(refusal_of(ramfs.path()),
              AllOf(HasSubstr(ramfs.path().string()), HasSubstr("(ramfs)"), HasSubstr("refuses O_DIRECT"),
                    HasSubstr("--backend buffered")));
  EXPECT_TRUE(std::filesystem::is_empty(ramfs.path()));
}

TEST(DirectIoProbe, RefusesExt4ThatJournalsDataAndTakesTheSameExt4WithoutIt) {
  {
    const test::Mounted journalled(std::uint64_t{32} << 20, "data=journal");
    if (!journalled.ok()) GTEST_SKIP() << journalled.why_not();
    EXPECT_THAT(refusal_of(journalled.path()), AllOf(HasSubstr("(ext4)"), HasSubstr("--backend buffered")));
  }
  const test::Mounted plain(std::uint64_t{32} << 20, "");
  ASSERT_TRUE(plain.ok()) << plain.why_not();
  EXPECT_EQ(refusal_of(plain.path()), "(not refused)");
}

TEST(DirectIoProbe, SaysWhichFolderCannotBeProbed) {
  EXPECT_THAT(refusal_of("/no/such/folder"), AllOf(HasSubstr("/no/such/folder"), HasSubstr("No such file")));
}

TEST(CachedPages, CountsWhatWasWrittenThroughTheCache) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "empty", "");
  EXPECT_EQ(cached_pages(folder / "empty"), 0U);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  test::write_text(folder / "three", std::string(2 * page + 1, 'x'));
  EXPECT_EQ(cached_pages(folder / "three"), 3U);
}

TEST(CachedPages, NamesTheFileThatCannotBeOpened) {
  try {
    (void)cached_pages("/no/such/file");
    FAIL() << "counted";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    EXPECT_THAT(error.what(), HasSubstr("/no/such/file"));
  }
}

}  // namespace
}  // namespace ckptsim::storage
