#include "storage/libtorch/libtorch_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/errors.h"
#include "tests/storage/libtorch/fake_writer.h"
#include "tests/storage/libtorch/stream_helpers.h"

namespace ckptsim::storage::libtorch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const Module& module) {
  try {
    (void)read_all(module, long_file());
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

TEST(LibtorchStream, MakesTheSameFileAndDigestAsTheOwnWriterInPiecesOfAnySize) {
  const Read reference = read_reference(long_file());
  for (const std::size_t piece_bytes :
       {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 18, std::size_t{1} << 24}) {
    EXPECT_TRUE(read_all(fake_module(), long_file(), piece_bytes) == reference) << piece_bytes;
  }
}

TEST(LibtorchStream, WritesAnEmptyDict) {
  const torch::FileSpec empty{"x.pt", {}};
  EXPECT_TRUE(read_all(fake_module(), empty) == read_reference(empty));
}

TEST(LibtorchStream, MakesContentInStepsThatReturn) {
  const torch::FileSpec file = long_file();
  const Module module = fake_module();
  std::vector<std::byte> memory = memory_for(file);
  LibtorchStream stream(module, file, 1, 1, 1, memory);
  std::vector<std::byte> piece(std::size_t{1} << 24);
  std::size_t empty_handed = 0;
  while (!stream.finished())
    if (stream.read(piece) == 0) ++empty_handed;
  // Each tensor but the empty one takes a step at least; the long one, of 1.2 MB, five.
  EXPECT_EQ(empty_handed, 14U + 5U);
}

TEST(LibtorchStream, ASampleTimesContentAndTorchApart) {
  const torch::FileSpec file = long_file();
  const Module module = fake_module();
  std::vector<std::byte> memory = memory_for(file);
  const SteadyClock clock;
  torch::MakingSample sample;
  LibtorchStream stream(module, file, 1, 1, 1, memory);
  stream.sample(clock, sample);
  std::vector<std::byte> piece(std::size_t{1} << 20);
  const Clock::Time start = clock.now();
  while (!stream.finished())
    stream.read(piece);
  EXPECT_GT(sample.content_ns, 0);
  EXPECT_GT(sample.crc_ns, 0);
  EXPECT_LE(sample.content_ns + sample.crc_ns, (clock.now() - start).count());
}

TEST(LibtorchStream, NeedsMemoryForTheLargestTensorAlone) {
  EXPECT_EQ(largest_tensor_bytes(long_file()), 300U * 1001 * 4);
  EXPECT_EQ(largest_tensor_bytes({"x.pt", {{"a", std::int64_t{1}}, {"b", std::string("c")}}}), 0U);
}

TEST(LibtorchStream, SaysWhatTorchSaidAndForWhichRecord) {
  EXPECT_THAT(
      error_of(fake_module<Faults{.throws = true}>()),
      AllOf(HasSubstr("mp_rank_00_model_states.pt: LibTorch 1.13.9"), HasSubstr("data.pkl: unexpected pos")));
}

TEST(LibtorchStream, RefusesAWriterThatPutsRecordsElsewhereThanPlanned) {
  EXPECT_THAT(error_of(fake_module<Faults{.alignment_bytes = 4096}>()),
              AllOf(HasSubstr("ends the record data.pkl at byte"), HasSubstr("serializer stream")));
}

TEST(LibtorchStream, RefusesAWriterThatCopiesPayloads) {
  EXPECT_THAT(error_of(fake_module<Faults{.copies_payloads = true}>()), HasSubstr("handed on 0 of"));
}

TEST(LibtorchStream, EndsAnywhere) {
  const torch::FileSpec file = long_file();
  const Module module = fake_module();
  std::vector<std::byte> memory = memory_for(file);
  LibtorchStream stream(module, file, 1, 1, 1, memory);
  std::vector<std::byte> piece(100);
  EXPECT_EQ(stream.read(piece), piece.size());
  EXPECT_FALSE(stream.finished());
}

TEST(LibtorchStreamDeathTest, HasNoDigestBeforeTheEnd) {
  const torch::FileSpec file = long_file();
  const Module module = fake_module();
  std::vector<std::byte> memory = memory_for(file);
  const LibtorchStream stream(module, file, 1, 1, 1, memory);
  EXPECT_DEATH((void)stream.digest(), "a digest is known at the end");
}

}  // namespace
}  // namespace ckptsim::storage::libtorch
