// The module itself: torch's own writer under the stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "storage/libtorch/load_module.h"
#include "tests/storage/libtorch/stream_helpers.h"

namespace ckptsim::storage::libtorch {
namespace {

const Module& module() {
  static const Module& loaded = load_module({CKPTSIM_MODULE});
  return loaded;
}

std::ptrdiff_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST(LibtorchModule, IsOfTheReleaseWhoseFilesAreKnown) {
  EXPECT_THAT(std::string(module().torch_version), testing::StartsWith("1.13."));
}

TEST(LibtorchModule, MakesTheSameFileAndDigestAsTheOwnWriter) {
  const Read reference = read_reference(long_file());
  for (const std::size_t piece_bytes : {std::size_t{100}, std::size_t{1} << 18, std::size_t{1} << 24}) {
    EXPECT_TRUE(read_all(module(), long_file(), piece_bytes) == reference) << piece_bytes;
  }
}

TEST(LibtorchModule, WritesAnEmptyDict) {
  const torch::FileSpec empty{"x.pt", {}};
  EXPECT_TRUE(read_all(module(), empty) == read_reference(empty));
}

TEST(LibtorchModule, HandsATensorOnFromItsOwnMemoryInOnePiece) {
  std::vector<std::byte> memory(std::size_t{20} << 20, std::byte{7});
  std::vector<std::span<const std::byte>> large;
  const auto writer = module().make_writer("root", [&](std::span<const std::byte> bytes) {
    if (bytes.size() > 1000) large.push_back(bytes);
  });
  writer->write_tensor("data/0", {torch::ScalarType::kUInt8, {20, 1 << 20}}, memory);
  ASSERT_EQ(large.size(), 1U);
  EXPECT_EQ(large[0].data(), memory.data());
  EXPECT_EQ(large[0].size(), memory.size());
}

TEST(LibtorchModule, SaysNothingMoreWhenItIsLeftUnfinished) {
  std::uint64_t handed = 0;
  auto writer =
      module().make_writer("root", [&](std::span<const std::byte> bytes) { handed += bytes.size(); });
  writer->write_bytes("data.pkl", "abc");
  const std::uint64_t before = handed;
  EXPECT_GT(before, 0U);
  writer.reset();
  EXPECT_EQ(handed, before);
}

TEST(LibtorchModule, PassesTorchsMessageOnWithoutItsBacktrace) {
  const auto writer = module().make_writer("root", [](std::span<const std::byte>) {});
  std::vector<std::byte> memory(3);
  try {
    writer->write_tensor("data/0", {torch::ScalarType::kFloat32, {4}}, memory);
    FAIL() << "16 bytes are not in 3";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "data/0 has 16 bytes, its memory 3");
  }
}

TEST(LibtorchModule, WritesForSeveralThreadsAtOnceAndStartsNone) {
  const Read reference = read_reference(long_file());
  (void)module();
  constexpr std::size_t kThreads = 8;
  std::vector<Read> reads(kThreads);
  const std::ptrdiff_t before = threads_of_this_process();
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (Read& read : reads) {
      threads.emplace_back([&read] {
        for (int i = 0; i < 10; ++i)
          read = read_all(module(), long_file());
      });
    }
  }
  EXPECT_EQ(threads_of_this_process(), before);
  for (const Read& read : reads)
    EXPECT_TRUE(read == reference);
}

}  // namespace
}  // namespace ckptsim::storage::libtorch
