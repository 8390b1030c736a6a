// What every backend promises of reading, asked of each of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "tests/contract/target_cases.h"
#include "tests/contract/target_driver.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

using Kind = Request::Kind;
using test::content;
using test::write_text;

using ReadingTarget = TargetTest;
using NullTarget = TargetTest;

// The file's bytes in blocks, up to the queue depth of them in flight, from the completions by offset. One
// block more than there are bytes is asked for.
std::string read_whole(Target& target, int file, std::uint64_t size_bytes) {
  std::map<std::uint64_t, std::string> pieces;
  const auto reap = [&] {
    Completion completion;
    target.wait(completion);
    EXPECT_EQ(completion.kind, Kind::kRead);
    EXPECT_EQ(completion.file, file);
    EXPECT_FALSE(completion.error) << completion.error.message();
    EXPECT_GE(completion.completed, completion.submitted);
    const auto bytes = completion.buffer.bytes().first(completion.length);
    pieces[completion.offset] = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  for (std::uint64_t offset = 0; offset <= size_bytes; offset += target.block_bytes()) {
    while (target.transfers_in_flight() == target.queue_depth())
      reap();
    Request request;
    request.kind = Kind::kRead;
    request.file = file;
    request.offset = offset;
    request.length = target.block_bytes();
    request.buffer = target.take_buffer();
    target.submit(std::move(request));
  }
  while (target.transfers_in_flight() > 0)
    reap();
  std::string all;
  for (const auto& [offset, bytes] : pieces)
    all += bytes;
  return all;
}

Completion open_to_read(test::TargetDriver driver, int file, const std::string& path) {
  Request request;
  request.kind = Kind::kOpenToRead;
  request.file = file;
  request.path = path;
  return driver.run(std::move(request));
}

Completion read_at(test::TargetDriver driver, Target& target, int file, std::uint64_t offset,
                   std::uint64_t length) {
  Request request;
  request.kind = Kind::kRead;
  request.file = file;
  request.offset = offset;
  request.length = length;
  request.buffer = target.take_buffer();
  return driver.run(std::move(request));
}

TEST_P(ReadingTarget, WhatIsReadIsTheFileAtEverySizeAroundAlignmentsAndBlocks) {
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{511}, std::uint64_t{4095}, std::uint64_t{4096},
        std::uint64_t{4097}, kBlock - 1, kBlock, kBlock + 1, kBlock + 4096, 4 * kBlock - 1, 4 * kBlock,
        9 * kBlock + 12345}) {
    const std::string name = "size-" + std::to_string(size);
    const std::string bytes = content(size, static_cast<unsigned>(size));
    write_text(path(name.c_str()), bytes);
    ASSERT_FALSE(open_to_read(driver(), 4, path(name.c_str())).error) << size;
    ASSERT_TRUE(read_whole(*target_, 4, size) == bytes) << size;
    ASSERT_FALSE(driver().simple(Kind::kClose, 4).error) << size;
  }
}

TEST_P(ReadingTarget, AReadAtTheEndSaysHowFewBytesCameAndOnePastItSaysNone) {
  write_text(path("file"), content(kBlock + 5000));
  ASSERT_FALSE(open_to_read(driver(), 1, path("file")).error);
  const Completion tail = read_at(driver(), *target_, 1, kBlock, kBlock);
  EXPECT_FALSE(tail.error);
  EXPECT_EQ(tail.length, 5000U);
  EXPECT_EQ(tail.offset, kBlock);
  EXPECT_TRUE(tail.buffer.valid());
  EXPECT_EQ(read_at(driver(), *target_, 1, 2 * kBlock, kBlock).length, 0U);
}

TEST_P(ReadingTarget, ReadsPartOfABlockAndNoByteMore) {
  write_text(path("file"), content(2 * kBlock));
  ASSERT_FALSE(open_to_read(driver(), 1, path("file")).error);
  Request request;
  request.kind = Kind::kRead;
  request.file = 1;
  request.offset = 4096;
  request.length = 8192;
  request.buffer = target_->take_buffer();
  std::memset(request.buffer.bytes().data(), 0x5A, kBlock);
  const Completion completion = driver().run(std::move(request));
  ASSERT_EQ(completion.length, 8192U);
  const auto bytes = completion.buffer.bytes();
  EXPECT_EQ(std::memcmp(bytes.data(), content(2 * kBlock).data() + 4096, 8192), 0);
  EXPECT_THAT(bytes.subspan(8192), testing::Each(std::byte{0x5A}));
}

TEST_P(ReadingTarget, ReadsWhatItWroteItself) {
  const std::string bytes = content(3 * kBlock + 77);
  ASSERT_FALSE(driver().write_file(path("file"), bytes));
  ASSERT_FALSE(open_to_read(driver(), 1, path("file")).error);
  EXPECT_TRUE(read_whole(*target_, 1, bytes.size()) == bytes);
}

TEST_P(ReadingTarget, NeverChangesWhatItReads) {
  write_text(path("file"), content(100));
  ASSERT_FALSE(open_to_read(driver(), 1, path("file")).error);
  const auto writes = driver().write(1, content(kBlock));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].error, std::errc::bad_file_descriptor);
  EXPECT_TRUE(test::read_file(path("file")) == content(100));
}

TEST_P(ReadingTarget, OpensNothingButARegularFileAndFollowsNoLink) {
  EXPECT_EQ(open_to_read(driver(), 1, path("missing")).error, std::errc::no_such_file_or_directory);
  EXPECT_FALSE(std::filesystem::exists(path("missing")));
  std::filesystem::create_directory(path("folder"));
  EXPECT_TRUE(open_to_read(driver(), 1, path("folder")).error);
  write_text(path("file"), "text");
  std::filesystem::create_symlink("file", path("link"));
  EXPECT_EQ(open_to_read(driver(), 1, path("link")).error, std::errc::too_many_symbolic_link_levels);
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_TRUE(open_to_read(driver(), 1, path("fifo")).error) << "and does not wait for a writer";
  EXPECT_TRUE(open_to_read(driver(), 1, "/dev/zero").error);
}

TEST_P(ReadingTarget, AFileThatIsNotOpenIsABadDescriptor) {
  const Completion completion = read_at(driver(), *target_, 5, 0, kBlock);
  EXPECT_EQ(completion.error, std::errc::bad_file_descriptor);
  EXPECT_EQ(completion.length, 0U);
  EXPECT_TRUE(completion.buffer.valid());
  EXPECT_EQ(target_->transfers_in_flight(), 0U);
}

TEST_P(ReadingTarget, CanBeDestroyedWithReadsInFlight) {
  write_text(path("file"), content(8 * kBlock));
  ASSERT_FALSE(open_to_read(driver(), 1, path("file")).error);
  for (std::uint64_t i = 0; i < depth(); ++i) {
    Request request;
    request.kind = Kind::kRead;
    request.file = 1;
    request.offset = i * kBlock;
    request.length = kBlock;
    request.buffer = target_->take_buffer();
    target_->submit(std::move(request));
  }
  target_.reset();
  EXPECT_TRUE(test::read_file(path("file")) == content(8 * kBlock));
}

// What was never kept is not invented.
TEST_P(NullTarget, RefusesToRead) {
  EXPECT_EQ(open_to_read(driver(), 1, path("file")).error, std::errc::operation_not_supported);
  EXPECT_EQ(read_at(driver(), *target_, 1, 0, kBlock).error, std::errc::operation_not_supported);
}

INSTANTIATE_TEST_SUITE_P(Backends, ReadingTarget, storing(), case_name);
INSTANTIATE_TEST_SUITE_P(Backends, NullTarget, testing::Values(kNull), case_name);

}  // namespace
}  // namespace ckptsim::storage
