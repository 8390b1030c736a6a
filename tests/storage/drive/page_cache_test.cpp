#include "storage/drive/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <system_error>

#include "storage/descriptor.h"
#include "tests/storage/support/child.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

constexpr long kCachestatCall = 451;

std::uint64_t page_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

Descriptor open_to_read(const std::filesystem::path& path) {
  return Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

TEST(PageCache, BothWaysOfCountingAgree) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "file", std::string(4 * page_bytes() + 5, 'x'));
  const Descriptor file = open_to_read(folder / "file");
  EXPECT_EQ(count_cached_pages(file.get()), 5U);
  EXPECT_EQ(count_cached_pages_by_mincore(file.get()), 5U);
  ASSERT_EQ(fdatasync(file.get()), 0);
  ASSERT_EQ(posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  EXPECT_EQ(count_cached_pages(file.get()), 0U);
  EXPECT_EQ(count_cached_pages_by_mincore(file.get()), 0U);
}

TEST(PageCache, AnEmptyFileHasNoPages) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "file", "");
  const Descriptor file = open_to_read(folder / "file");
  EXPECT_EQ(count_cached_pages(file.get()), 0U);
  EXPECT_EQ(count_cached_pages_by_mincore(file.get()), 0U);
}

TEST(PageCache, CountsBeyondTheFirstWindowOfALargeFile) {
  const test::TemporaryFolder folder;
  constexpr off_t far_offset = off_t{3} << 30;
  const Descriptor file(open((folder / "file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_EQ(pwrite(file.get(), "x", 1, far_offset), 1);
  EXPECT_EQ(count_cached_pages_by_mincore(file.get()), 1U);
}

TEST(PageCacheDeathTest, CountsWithMincoreWhereCachestatIsMissingOrForbidden) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "file", std::string(2 * page_bytes(), 'x'));
  for (const int error : {ENOSYS, EPERM}) {
    test::expect_in_child([&]() -> std::string {
      if (!test::forbid_system_call(kCachestatCall, error)) return "no filter could be set";
      const auto pages = count_cached_pages(open_to_read(folder / "file").get());
      return pages == 2U ? "" : "counted " + std::to_string(pages.value_or(0));
    });
  }
}

// Both calls answer only to the owner of a file and to who may write it; mincore says "resident" to others.
TEST(PageCacheDeathTest, DoesNotKnowOfAFileThatIsAnotherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const test::TemporaryFolder folder;
  test::write_text(folder / "file", std::string(2 * page_bytes(), 'x'));
  test::write_text(folder / "writable", std::string(2 * page_bytes(), 'x'));
  ASSERT_EQ(chmod((folder / "file").c_str(), 0644), 0);
  ASSERT_EQ(chmod((folder / "writable").c_str(), 0666), 0);
  const Descriptor file = open_to_read(folder / "file");
  const Descriptor writable = open_to_read(folder / "writable");
  test::expect_in_child([&]() -> std::string {
    constexpr uid_t nobody = 65534;
    if (setresuid(nobody, nobody, nobody) != 0) return "could not become nobody";
    if (count_cached_pages_by_mincore(file.get())) return "mincore's answer was taken";
    if (count_cached_pages_by_mincore(writable.get()) != 2U) return "who may write it is told";
    if (count_cached_pages(writable.get()) != 2U) return "who may write it is told";
    if (!test::forbid_system_call(kCachestatCall, ENOSYS)) return "no filter could be set";
    return count_cached_pages(file.get()) ? "cachestat's absence was no reason" : "";
  });
}

TEST(PageCache, SaysWhatTheSystemSays) {
  EXPECT_THROW((void)count_cached_pages(-1), std::system_error);
}

}  // namespace
}  // namespace ckptsim::storage
