// What every backend promises, asked of each of them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <tuple>

#include "storage/descriptor.h"
#include "storage/drive/direct_io_probe.h"
#include "storage/target/make_target.h"
#include "tests/contract/target_cases.h"
#include "tests/contract/target_driver.h"
#include "tests/storage/support/mounted.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

using Kind = Request::Kind;
using test::content;
using test::read_file;
using test::TargetDriver;
using test::write_text;

using AnyTarget = TargetTest;
using StoringTarget = TargetTest;
using DirectTarget = TargetTest;

// ---- all backends

TEST_P(AnyTarget, SaysHowItWorks) {
  const bool direct = GetParam().kind == Backend::kIoUring || GetParam().kind == Backend::kDirect;
  EXPECT_EQ(target_->facts().backend, GetParam().backend);
  EXPECT_EQ(target_->facts().direct_io, direct);
  EXPECT_EQ(target_->io_alignment(), direct ? 4096U : 1U);
  EXPECT_EQ(target_->block_bytes(), kBlock);
  EXPECT_EQ(target_->queue_depth(), depth());
}

TEST_P(AnyTarget, HasOneBufferToFillBesideThoseInItsQueueAndAnotherWhereBlocksWaitAndGetsThemBack) {
  ASSERT_FALSE(driver().open(1, path("file")).error);
  EXPECT_EQ(driver().write(1, content(20 * kBlock)).size(), 20U);
  std::set<const std::byte*> blocks;
  std::vector<Buffer> taken;
  for (std::uint64_t i = 0; i < buffers(); ++i) {
    taken.push_back(target_->take_buffer());
    ASSERT_TRUE(taken.back().valid());
    EXPECT_EQ(taken.back().bytes().size(), kBlock);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(taken.back().bytes().data()) % 4096, 0U);
    blocks.insert(taken.back().bytes().data());
  }
  EXPECT_EQ(blocks.size(), buffers());
  EXPECT_FALSE(target_->take_buffer().valid());
}

TEST_P(AnyTarget, DeliversEveryWriteOnceWithItsOwnFileOffsetLengthAndTimes) {
  ASSERT_FALSE(driver().open(3, path("file")).error);
  std::set<std::uint64_t> offsets;
  for (const Completion& completion : driver().write(3, content(32 * kBlock))) {
    EXPECT_EQ(completion.kind, Kind::kWrite);
    EXPECT_EQ(completion.file, 3);
    EXPECT_EQ(completion.length, kBlock);
    EXPECT_FALSE(completion.error) << completion.error.message();
    EXPECT_GT(completion.submitted.count(), 0);
    EXPECT_GE(completion.completed, completion.submitted);
    offsets.insert(completion.offset);
  }
  EXPECT_EQ(offsets.size(), 32U);
  EXPECT_EQ(*offsets.rbegin(), 31 * kBlock);
}

TEST_P(AnyTarget, CompletionsHandBackTheBufferOfTheirWrite) {
  ASSERT_FALSE(driver().open(1, path("file")).error);
  Request request;
  request.kind = Kind::kWrite;
  request.file = 1;
  request.length = kBlock;
  request.buffer = target_->take_buffer();
  const std::byte* const data = request.buffer.bytes().data();
  const Completion completion = driver().run(std::move(request));
  ASSERT_TRUE(completion.buffer.valid());
  EXPECT_EQ(completion.buffer.bytes().data(), data);
}

TEST_P(AnyTarget, CountsWhatIsPendingAndInFlight) {
  Completion completion;
  EXPECT_FALSE(target_->poll(completion));
  ASSERT_FALSE(driver().open(1, path("file")).error);
  for (std::uint64_t i = 0; i < depth(); ++i)
    driver().submit_block(1, i * kBlock);
  EXPECT_EQ(target_->transfers_in_flight(), depth());
  EXPECT_EQ(target_->pending(), depth());
  target_->wait(completion);
  EXPECT_EQ(target_->transfers_in_flight(), depth() - 1);
  EXPECT_EQ(target_->pending(), depth() - 1);
}

TEST_P(AnyTarget, PollDeliversWhatArrivesWithoutWaiting) {
  ASSERT_FALSE(driver().open(1, path("file")).error);
  driver().submit_block(1, 0);
  Completion completion;
  while (!target_->poll(completion)) {
  }
  EXPECT_EQ(completion.kind, Kind::kWrite);
  EXPECT_FALSE(completion.error);
  EXPECT_EQ(target_->pending(), 0U);
  EXPECT_FALSE(target_->poll(completion));
}

TEST_P(AnyTarget, CountsSyncsOfFilesAndDirectoriesAndNothingElse) {
  ASSERT_FALSE(driver().write_file(path("synced"), content(100), true));
  EXPECT_EQ(target_->sync_calls(), 1U);
  ASSERT_FALSE(driver().write_file(path("unsynced"), content(100), false));
  EXPECT_EQ(target_->sync_calls(), 1U);
  Request request;
  request.kind = Kind::kSyncDirectory;
  request.path = folder_.path().string();
  EXPECT_FALSE(driver().run(std::move(request)).error);
  EXPECT_EQ(target_->sync_calls(), 2U);
}

TEST_P(AnyTarget, CanBeDestroyedWithWritesInFlightAndCompletionsUnread) {
  ASSERT_FALSE(driver().open(1, path("file")).error);
  for (std::uint64_t i = 0; i < depth(); ++i)
    driver().submit_block(1, i * kBlock);
  target_.reset();
  if (GetParam().kind == Backend::kNull) return;
  EXPECT_EQ(read_file(path("file")), std::string(depth() * kBlock, 'Z'));  // 0x5A
}

TEST_P(AnyTarget, WarmsUpItsBuffers) {
  target_->warm_up();
  const Buffer buffer = target_->take_buffer();
  EXPECT_THAT(buffer.bytes(), testing::Each(std::byte{0}));
}

TEST_P(AnyTarget, WorksWithAQueueOfOne) {
  const auto narrow = make(1);
  EXPECT_FALSE(TargetDriver(*narrow).write_file(path("file"), content(5 * kBlock + 3)));
}

using AnyTargetDeathTest = TargetTest;

TEST_P(AnyTargetDeathTest, RefusesMoreWritesThanItsQueueIsDeep) {
  ASSERT_FALSE(driver().open(1, path("file")).error);
  for (std::uint64_t i = 0; i < depth(); ++i)
    driver().submit_block(1, i * kBlock);
  EXPECT_DEATH(driver().submit_block(1, depth() * kBlock), "queue depth");
}

TEST_P(AnyTargetDeathTest, RefusesToWaitForNothing) {
  Completion completion;
  EXPECT_DEATH(target_->wait(completion), "wait for");
}

TEST_P(AnyTargetDeathTest, RefusesAWriteWithoutABuffer) {
  Request request;
  request.kind = Kind::kWrite;
  request.length = kBlock;
  EXPECT_DEATH(target_->submit(std::move(request)), "has a buffer");
}

TEST_P(AnyTargetDeathTest, RefusesTheBufferOfAnotherTarget) {
  const auto other = make();
  Request request;
  request.kind = Kind::kWrite;
  request.length = kBlock;
  request.buffer = other->take_buffer();
  EXPECT_DEATH(target_->submit(std::move(request)), "its target's");
}

// ---- backends that keep what they are given

TEST_P(StoringTarget, WhatIsReadIsWhatWasWrittenAtEverySizeAroundAlignmentsAndBlocks) {
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{511}, std::uint64_t{512}, std::uint64_t{513},
        std::uint64_t{4095}, std::uint64_t{4096}, std::uint64_t{4097}, std::uint64_t{8191}, kBlock - 4096,
        kBlock - 1, kBlock, kBlock + 1, kBlock + 4096, 4 * kBlock - 1, 4 * kBlock, 9 * kBlock + 12345}) {
    const std::string name = "size-" + std::to_string(size);
    const std::string bytes = content(size, static_cast<unsigned>(size));
    ASSERT_FALSE(driver().write_file(path(name.c_str()), bytes)) << size;
    ASSERT_TRUE(read_file(path(name.c_str())) == bytes) << size;
  }
}

TEST_P(StoringTarget, ThePaddingOfTheTailGoesWhenTheTrueLengthIsSet) {
  ASSERT_FALSE(driver().open(1, path("file")).error);
  (void)driver().write(1, content(5000));
  const std::uint64_t alignment = target_->io_alignment();
  EXPECT_EQ(std::filesystem::file_size(path("file")), (5000 + alignment - 1) / alignment * alignment);
  EXPECT_FALSE(driver().simple(Kind::kSetLength, 1, 5000).error);
  EXPECT_EQ(std::filesystem::file_size(path("file")), 5000U);
  // What the padding held does not come back when the file grows again.
  EXPECT_FALSE(driver().simple(Kind::kSetLength, 1, 6000).error);
  EXPECT_FALSE(driver().simple(Kind::kClose, 1).error);
  EXPECT_EQ(read_file(path("file")).substr(5000), std::string(1000, '\0'));
}

TEST_P(StoringTarget, KeepsSeveralFilesApart) {
  ASSERT_FALSE(driver().open(10, path("a")).error);
  ASSERT_FALSE(driver().open(20, path("b")).error);
  const std::string a = content(3 * kBlock, 1);
  const std::string b = content(3 * kBlock, 2);
  (void)driver().write(20, b);
  (void)driver().write(10, a);
  EXPECT_FALSE(driver().simple(Kind::kClose, 10).error);
  EXPECT_FALSE(driver().simple(Kind::kClose, 20).error);
  EXPECT_TRUE(read_file(path("a")) == a);
  EXPECT_TRUE(read_file(path("b")) == b);
}

TEST_P(StoringTarget, ANumberCanBeUsedAgainAfterItsFileWasClosed) {
  EXPECT_FALSE(driver().write_file(path("first"), content(100)));
  EXPECT_FALSE(driver().write_file(path("second"), content(200)));
  EXPECT_EQ(std::filesystem::file_size(path("second")), 200U);
}

TEST_P(StoringTarget, NewRefusesAFileThatExists) {
  write_text(path("file"), "old");
  EXPECT_EQ(driver().open(1, path("file"), OpenMode::kNew).error, std::errc::file_exists);
  EXPECT_EQ(read_file(path("file")), "old");
}

TEST_P(StoringTarget, TruncateCutsAnOlderFileWhenItIsOpened) {
  write_text(path("file"), std::string(2 * kBlock, 'o'));
  ASSERT_FALSE(driver().open(1, path("file"), OpenMode::kTruncate).error);
  EXPECT_EQ(std::filesystem::file_size(path("file")), 0U);
}

TEST_P(StoringTarget, OverwriteKeepsAnOlderFileAndItsInode) {
  write_text(path("file"), std::string(2 * kBlock, 'o'));
  struct stat before {};
  ASSERT_EQ(stat(path("file").c_str(), &before), 0);
  ASSERT_FALSE(driver().open(1, path("file"), OpenMode::kOverwrite).error);
  const std::string first = content(kBlock);
  (void)driver().write(1, first);
  EXPECT_FALSE(driver().simple(Kind::kClose, 1).error);
  EXPECT_TRUE(read_file(path("file")) == first + std::string(kBlock, 'o'));
  struct stat after {};
  ASSERT_EQ(stat(path("file").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
}

TEST_P(StoringTarget, TruncateAndOverwriteMakeAMissingFile) {
  EXPECT_FALSE(driver().write_file(path("a"), content(10), true, OpenMode::kTruncate));
  EXPECT_FALSE(driver().write_file(path("b"), content(10), true, OpenMode::kOverwrite));
  EXPECT_EQ(std::filesystem::status(path("a")).permissions() & std::filesystem::perms(0077),
            std::filesystem::perms(0044));
  EXPECT_EQ(std::filesystem::file_size(path("b")), 10U);
}

TEST_P(StoringTarget, PreallocationAllocatesBlocksAndSetsTheSize) {
  ASSERT_FALSE(driver().open(1, path("file")).error);
  ASSERT_FALSE(driver().simple(Kind::kPreallocate, 1, 3 * kBlock + 100).error);
  struct stat status {};
  ASSERT_EQ(stat(path("file").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, static_cast<off_t>(3 * kBlock + 100));
  EXPECT_GE(status.st_blocks * 512, status.st_size);
  const std::string bytes = content(3 * kBlock + 100);
  (void)driver().write(1, bytes);
  EXPECT_FALSE(driver().simple(Kind::kSetLength, 1, bytes.size()).error);
  EXPECT_FALSE(driver().simple(Kind::kClose, 1).error);
  EXPECT_TRUE(read_file(path("file")) == bytes);
}

TEST_P(StoringTarget, NeverFollowsALink) {
  write_text(path("elsewhere"), "precious");
  std::filesystem::create_symlink("elsewhere", path("link"));
  EXPECT_EQ(driver().open(1, path("link"), OpenMode::kTruncate).error,
            std::errc::too_many_symbolic_link_levels);
  EXPECT_EQ(read_file(path("elsewhere")), "precious");
}

// A file with two names is changed under both.
TEST_P(StoringTarget, NeverChangesAFileThatHasAnotherName) {
  write_text(path("elsewhere"), "precious");
  std::filesystem::create_hard_link(path("elsewhere"), path("file"));
  for (const OpenMode mode : {OpenMode::kTruncate, OpenMode::kOverwrite, OpenMode::kNew}) {
    const auto error = driver().open(1, path("file"), mode).error;
    EXPECT_EQ(error, mode == OpenMode::kNew ? std::errc::file_exists : std::errc::too_many_links);
    EXPECT_EQ(read_file(path("elsewhere")), "precious");
  }
}

TEST_P(StoringTarget, OpensNothingButARegularFileToWriteAndDoesNotWaitForAReader) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(path("folder"));
  for (const OpenMode mode : {OpenMode::kTruncate, OpenMode::kOverwrite, OpenMode::kNew}) {
    EXPECT_TRUE(driver().open(1, path("fifo"), mode).error);
    EXPECT_TRUE(driver().open(1, path("folder"), mode).error);
  }
}

// A rank opens its checkpoint's folder before its clock starts; what is renamed or linked in its place then
// leads nowhere else.
TEST_P(StoringTarget, APathFromAnOpenFolderStaysInThatFolderWhateverTakesItsPlace) {
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_directory(path("elsewhere"));
  write_text(path("elsewhere/old"), "precious");
  write_text(path("folder/old"), "old");
  const Descriptor folder(open(path("folder").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::filesystem::rename(path("folder"), path("moved"));
  std::filesystem::create_directory_symlink("elsewhere", path("folder"));

  const auto from_folder = [&](Kind kind, int file, const char* name, OpenMode mode) {
    Request request;
    request.kind = kind;
    request.file = file;
    request.folder = folder.get();
    request.path = name;
    request.mode = mode;
    return driver().run(std::move(request)).error;
  };
  EXPECT_FALSE(from_folder(Kind::kOpen, 1, "new", OpenMode::kNew));
  EXPECT_FALSE(from_folder(Kind::kOpen, 2, "old", OpenMode::kTruncate));
  EXPECT_FALSE(from_folder(Kind::kOpenToRead, 3, "old", OpenMode::kNew));
  EXPECT_FALSE(from_folder(Kind::kSyncDirectory, 0, ".", OpenMode::kNew));
  EXPECT_EQ(std::filesystem::file_size(path("moved/old")), 0U);
  EXPECT_TRUE(std::filesystem::exists(path("moved/new")));
  EXPECT_EQ(read_file(path("elsewhere/old")), "precious");
  EXPECT_FALSE(std::filesystem::exists(path("elsewhere/new")));
}

TEST_P(StoringTarget, AMissingFolderIsAnErrorOfTheOpen) {
  EXPECT_EQ(driver().open(1, path("missing/file")).error, std::errc::no_such_file_or_directory);
  Request request;
  request.kind = Kind::kSyncDirectory;
  request.path = path("missing");
  EXPECT_EQ(driver().run(std::move(request)).error, std::errc::no_such_file_or_directory);
}

TEST_P(StoringTarget, AFileThatIsNotOpenIsABadDescriptor) {
  EXPECT_EQ(driver().simple(Kind::kSync, 5).error, std::errc::bad_file_descriptor);
  EXPECT_EQ(driver().simple(Kind::kClose, 5).error, std::errc::bad_file_descriptor);
  const auto writes = driver().write(5, content(kBlock));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].error, std::errc::bad_file_descriptor);
  EXPECT_EQ(target_->transfers_in_flight(), 0U);
}

// The size at which this process's files end, for as long as it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{bytes, old_limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_limit_);
    (void)std::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*old_handler_)(int);
  rlimit old_limit_{};
};

// The system takes half of the block (a short write), and gives its reason when asked to go on.
TEST_P(StoringTarget, AShortWriteIsContinuedUntilTheSystemSaysWhy) {
  ASSERT_FALSE(driver().open(1, path("file")).error);
  const std::string bytes = content(kBlock);
  {
    const FileSizeLimit limit(kBlock / 2);
    const auto writes = driver().write(1, bytes);
    ASSERT_EQ(writes.size(), 1U);
    EXPECT_EQ(writes[0].error, std::errc::file_too_large) << writes[0].error.message();
  }
  EXPECT_TRUE(read_file(path("file")) == bytes.substr(0, kBlock / 2));
}

TEST_P(StoringTarget, AFullFileSystemIsTheErrorOfAWriteOrOfItsSync) {
  const test::Mounted small(std::uint64_t{8} << 20, "");
  if (!small.ok()) GTEST_SKIP() << small.why_not();
  EXPECT_EQ(driver().write_file((small.path() / "file").string(), content(16U << 20U)),
            std::errc::no_space_on_device);
  std::vector<Buffer> taken;
  for (std::uint64_t i = 0; i < buffers(); ++i)
    taken.push_back(target_->take_buffer());
  EXPECT_TRUE(taken.back().valid()) << "all buffers came back";
}

// ---- direct I/O

class PageCache : public testing::TestWithParam<std::tuple<Case, bool>> {};

TEST_P(PageCache, HoldsNothingOfAClosedFileWhateverItsLength) {
  const auto [backend, sync] = GetParam();
  if (const std::string reason = why_not(backend); !reason.empty()) GTEST_SKIP() << reason;
  const test::TemporaryFolder folder;
  const SteadyClock clock;
  const auto target = make_target({backend.kind, kBlock, kDepth, 4096, backend.registered}, clock);
  for (const std::uint64_t size :
       {std::uint64_t{1}, std::uint64_t{4095}, std::uint64_t{4096}, std::uint64_t{4097}, kBlock - 1, kBlock,
        5 * kBlock + 1, 5 * kBlock + 1000, 20 * kBlock - 513}) {
    const std::string path = (folder / ("size-" + std::to_string(size))).string();
    for (const OpenMode mode : {OpenMode::kNew, OpenMode::kTruncate, OpenMode::kOverwrite}) {
      ASSERT_FALSE(TargetDriver(*target).write_file(path, content(size), sync, mode));
      EXPECT_EQ(cached_pages(path), 0U) << size;
    }
    EXPECT_TRUE(read_file(path) == content(size)) << size;
    EXPECT_GT(cached_pages(path), 0U)
        << "what is read through the page cache must show, or this proves nothing";
  }
}

// Why closing has work to do: with this test failing, the kernel no longer caches the tail and the work can
// go.
TEST_P(DirectTarget, TheTrueLengthLeavesItsPageCachedUntilTheFileIsClosed) {
  ASSERT_FALSE(driver().open(1, path("file")).error);
  (void)driver().write(1, content(kBlock));
  EXPECT_EQ(cached_pages(path("file")), 0U);
  ASSERT_FALSE(driver().simple(Kind::kSetLength, 1, kBlock - 1000).error);
  if (cached_pages(path("file")) == 0) GTEST_SKIP() << "this file system does not cache the tail";
  EXPECT_EQ(cached_pages(path("file")), 1U);
  ASSERT_FALSE(driver().simple(Kind::kClose, 1).error);
  EXPECT_EQ(cached_pages(path("file")), 0U);
}

TEST_P(DirectTarget, IsNeverOpenedWithoutDirectIo) {
  const test::Mounted ramfs("ramfs");
  if (!ramfs.ok()) GTEST_SKIP() << ramfs.why_not();
  EXPECT_EQ(driver().open(1, (ramfs.path() / "file").string()).error, std::errc::invalid_argument);
}

using DirectTargetDeathTest = TargetTest;

TEST_P(DirectTargetDeathTest, RefusesUnalignedWrites) {
  const auto unaligned = [&](std::uint64_t offset, std::uint64_t length) {
    Request request;
    request.kind = Kind::kWrite;
    request.offset = offset;
    request.length = length;
    request.buffer = target_->take_buffer();
    target_->submit(std::move(request));
  };
  EXPECT_DEATH(unaligned(512, 4096), "multiples");
  EXPECT_DEATH(unaligned(0, 1000), "multiples");
}

std::string page_cache_case_name(const testing::TestParamInfo<std::tuple<Case, bool>>& info) {
  const auto& [backend, sync] = info.param;
  return std::string(backend.name) + (sync ? "Synced" : "Unsynced");
}

INSTANTIATE_TEST_SUITE_P(Backends, AnyTarget, all(), case_name);
INSTANTIATE_TEST_SUITE_P(Backends, AnyTargetDeathTest, all(), case_name);
INSTANTIATE_TEST_SUITE_P(Backends, StoringTarget, storing(), case_name);
INSTANTIATE_TEST_SUITE_P(Backends, DirectTarget, direct(), case_name);
INSTANTIATE_TEST_SUITE_P(Backends, DirectTargetDeathTest, direct(), case_name);
INSTANTIATE_TEST_SUITE_P(Backends, PageCache, testing::Combine(direct(), testing::Bool()),
                         page_cache_case_name);

}  // namespace
}  // namespace ckptsim::storage
