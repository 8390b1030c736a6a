#include "storage/drive/direct_read_probe.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "storage/drive/direct_io_probe.h"
#include "tests/storage/support/child.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

std::error_code error_of(const std::filesystem::path& file) {
  try {
    (void)probe_direct_read(file);
  } catch (const std::system_error& error) {
    return error.code();
  }
  return {};
}

TEST(DirectReadProbe, AgreesWithTheWritingProbeAndLeavesTheFileAsItWas) {
  const test::TemporaryFolder folder;
  const std::string text(10000, 'x');
  test::write_text(folder / "file", text);  // its pages are dirty, and in the page cache
  EXPECT_EQ(probe_direct_read(folder / "file").io_alignment, prove_direct_io(folder.path()).io_alignment);
  EXPECT_EQ(cached_pages(folder / "file"), 0U);
  EXPECT_EQ(test::read_file(folder / "file"), text);
}

TEST(DirectReadProbe, SaysWhyWhereItCannotBe) {
  const std::filesystem::path memory = "/dev/shm/ckptsim-direct-read-probe-test";
  test::write_text(memory, std::string(10000, 'x'));
  const DirectReadFacts facts = probe_direct_read(memory);
  std::filesystem::remove(memory);
  EXPECT_EQ(facts.io_alignment, 0U);
  EXPECT_NE(facts.reason, "");
}

// The kernel calls every page of such a file resident; the file system's own word is then what there is.
TEST(DirectReadProbeDeathTest, DoesNotBlameTheFileSystemWhereThePageCacheIsNotShown) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const test::TemporaryFolder folder;
  test::write_text(folder / "file", std::string(10000, 'x'));
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod((folder / "file").c_str(), 0644), 0);
  const DirectReadFacts own = probe_direct_read(folder / "file");
  EXPECT_TRUE(own.cache_seen);
  if (!prove_direct_io(folder.path()).statx_reported) GTEST_SKIP() << "this file system does not say";
  test::expect_in_child([&]() -> std::string {
    constexpr uid_t nobody = 65534;
    if (chdir(folder.path().c_str()) != 0) return "could not enter the folder";  // folders above may be closed
    if (setresuid(nobody, nobody, nobody) != 0) return "could not become nobody";
    const DirectReadFacts facts = probe_direct_read("file");
    if (facts.io_alignment != own.io_alignment) return "another alignment: " + facts.reason;
    return facts.cache_seen ? "looked into what is not shown" : "";
  });
}

TEST(DirectReadProbe, FollowsNoLinkAndWaitsForNoFifo) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "file", "text");
  std::filesystem::create_symlink("file", folder / "link");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(error_of(folder / "link"), std::errc::too_many_symbolic_link_levels);
  EXPECT_EQ(error_of(folder / "none"), std::errc::no_such_file_or_directory);
  (void)error_of(folder / "fifo");  // comes back, whatever it says
}

}  // namespace
}  // namespace ckptsim::storage
