#include "storage/drive/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
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
      return pages == 2 ? "" : "counted " + std::to_string(pages);
    });
  }
}

TEST(PageCache, SaysWhatTheSystemSays) {
  EXPECT_THROW((void)count_cached_pages(-1), std::system_error);
}

}  // namespace
}  // namespace ckptsim::storage
