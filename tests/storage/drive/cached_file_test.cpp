#include "storage/drive/cached_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

constexpr std::size_t kBytes = 1'000'001;

std::string file_at(const std::filesystem::path& path) {
  test::write_text(path, std::string(kBytes, 'x'));
  return path.string();
}

TEST(CachedFile, DropsWhatWasNotEvenWrittenYet) {
  const test::TemporaryFolder folder;
  const std::string path = file_at(folder / "file");
  EXPECT_EQ(cached_bytes(path), kBytes);
  drop_from_page_cache(path);
  EXPECT_EQ(cached_bytes(path), 0U);
  EXPECT_EQ(test::read_file(path), std::string(kBytes, 'x'));
  EXPECT_EQ(cached_bytes(path), kBytes);
}

TEST(CachedFile, SaysWhereTheKernelCannotDropIt) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm, a file system in memory";
  const std::string path = file_at("/dev/shm/ckptsim-cached-file-test");
  drop_from_page_cache(path);
  EXPECT_EQ(cached_bytes(path), kBytes);
  std::filesystem::remove(path);
}

TEST(CachedFile, NamesAFileThatIsNotThere) {
  try {
    drop_from_page_cache("/no/such/file");
    FAIL() << "dropped a file that is not there";
  } catch (const std::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/file"), std::string::npos);
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
  }
}

}  // namespace
}  // namespace ckptsim::storage
