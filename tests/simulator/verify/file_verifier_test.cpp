#include "simulator/verify/file_verifier.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "small_checkpoint.h"

namespace ckptsim::simulator {
namespace {

using simulator::testing::SmallCheckpoint;
using storage::Completion;
using storage::Request;
using ::testing::HasSubstr;

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kDepth = 3;

// A drive whose reads come back last first, and that cannot read one of its blocks.
class ContraryTarget final : public storage::Target {
 public:
  ContraryTarget(const storage::Clock& clock, std::string bytes)
      : Target(clock, kBlock, kDepth, 512), bytes_(std::move(bytes)) {}

  [[nodiscard]] storage::TargetFacts facts() const override { return {"contrary", false, false, ""}; }
  void refuse_block(std::uint64_t offset) { unreadable_ = offset; }
  // Asks when so many reads have come back.
  void interrupt_after(std::size_t reads, Interruption& interruption) {
    interrupting_read_ = reads;
    interruption_ = &interruption;
  }
  [[nodiscard]] std::size_t reads_returned() const { return reads_returned_; }

 private:
  bool do_submit(Request& request, Completion& completion) override {
    if (request.kind != Request::Kind::kRead) return true;
    if (unreadable_ == request.offset) {
      completion.error = {EIO, std::system_category()};
      return true;
    }
    completion.length = std::min(request.length, bytes_.size() - request.offset);
    std::memcpy(request.buffer.bytes().data(), bytes_.data() + request.offset, completion.length);
    completion.buffer = std::move(request.buffer);
    in_flight_.push_back(std::move(completion));
    return false;
  }
  bool do_reap(bool /*block*/, Completion& completion) override {
    if (in_flight_.empty()) return false;
    completion = std::move(in_flight_.back());
    in_flight_.pop_back();
    if (++reads_returned_ == interrupting_read_) interruption_->ask(SIGTERM);
    return true;
  }

  std::string bytes_;
  std::optional<std::uint64_t> unreadable_;
  std::deque<Completion> in_flight_;
  std::size_t reads_returned_ = 0;
  std::size_t interrupting_read_ = 0;
  Interruption* interruption_ = nullptr;
};

class FileVerifying : public ::testing::Test {
 protected:
  FileOutcome verify(ContraryTarget& target) {
    FileVerifier verifier(target, folder_, manifest_, false, read_bytes_, interruption_);
    return verifier.verify(manifest_.files[0], manifest_.files[0].file_bytes);
  }

  SmallCheckpoint checkpoint_;
  storage::SteadyClock clock_;
  Manifest manifest_ = read_manifest(checkpoint_.manifest(), "manifest");
  std::string bytes_ = test::read_file(checkpoint_.folder() / "a.pt");
  storage::Folder folder_{
      storage::Descriptor(open(checkpoint_.folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      checkpoint_.folder()};
  std::atomic<std::uint64_t> read_bytes_{0};
  Interruption interruption_;
};

TEST_F(FileVerifying, TakesBlocksInOrderWhateverOrderTheyComeBackIn) {
  ContraryTarget target(clock_, bytes_);
  EXPECT_THAT(verify(target).findings, ::testing::IsEmpty());
  EXPECT_EQ(read_bytes_, bytes_.size());
}

TEST_F(FileVerifying, ABlockThatCannotBeReadIsAnErrorAtItsOffsetAndTheRestIsVerified) {
  bytes_[3 * kBlock + 7] ^= 1;
  ContraryTarget target(clock_, bytes_);
  target.refuse_block(kBlock);
  const FileOutcome outcome = verify(target);
  ASSERT_EQ(outcome.findings.size(), 2U);
  EXPECT_EQ(outcome.findings[0].kind, "read_error");
  EXPECT_EQ(outcome.findings[0].offset, kBlock);
  EXPECT_EQ(outcome.findings[0].bytes, kBlock);
  EXPECT_THAT(outcome.findings[0].words, HasSubstr("Input/output error"));
  EXPECT_EQ(outcome.unreadable_bytes, kBlock);
  EXPECT_EQ(outcome.findings[1].kind, "bytes");
  EXPECT_EQ(outcome.findings[1].offset, 3 * kBlock + 7);
  EXPECT_EQ(outcome.wrong_bytes, 1U);
}

TEST_F(FileVerifying, SaysWhetherAWrongPayloadWasWrittenSoOrChangedSince) {
  bytes_[5000] ^= 1;
  ContraryTarget changed(clock_, bytes_);
  EXPECT_THAT(verify(changed).findings.at(0).words, HasSubstr("the file's own CRC ("));
  manifest_.seed = 99;
  ContraryTarget other(clock_, test::read_file(checkpoint_.folder() / "a.pt"));
  EXPECT_THAT(verify(other).findings.at(0).words, HasSubstr("but the seed makes other bytes"));
}

TEST_F(FileVerifying, ManyWrongBytesAreCountedAndTheFirstOnesShown) {
  for (std::size_t at = 5000; at < 15000; at += 100)
    bytes_[at] ^= 1;
  ContraryTarget target(clock_, bytes_);
  const FileOutcome outcome = verify(target);
  EXPECT_EQ(outcome.wrong_bytes, 100U);
  EXPECT_EQ(outcome.findings.size() + outcome.more_ranges, 100U);
  EXPECT_LE(outcome.findings.size(), 8U);
}

TEST_F(FileVerifying, OnceAskedToEndItReadsNoFurtherAndLeavesNothingInFlight) {
  ASSERT_GT(bytes_.size(), 4 * kBlock);
  ContraryTarget target(clock_, bytes_);
  target.interrupt_after(1, interruption_);
  EXPECT_THAT(verify(target).findings, ::testing::IsEmpty());
  EXPECT_LE(read_bytes_, kDepth * kBlock);
  EXPECT_EQ(target.transfers_in_flight(), 0U);
}

TEST_F(FileVerifying, WhatDiffersIsReadAgainOnlyUntilItIsAskedToEnd) {
  bytes_[5000] ^= 1;
  ContraryTarget target(clock_, bytes_);
  const std::size_t blocks = (bytes_.size() + kBlock - 1) / kBlock;
  target.interrupt_after(blocks + 1, interruption_);
  (void)verify(target);
  EXPECT_TRUE(interruption_.asked());
  EXPECT_LT(target.reads_returned(), 2 * blocks);
  EXPECT_EQ(target.transfers_in_flight(), 0U);
}

TEST(Verify, SaysHowFarItHadComeWhenItWasAskedToEnd) {
  const SmallCheckpoint checkpoint;
  Interruption interruption;
  interruption.ask(SIGINT);
  const auto communicator = make_serial_communicator();
  Progress progress;
  try {
    (void)simulator::verify(*communicator, {.folders = {checkpoint.target().string()}, .backend = "buffered"},
                            progress, interruption);
    FAIL() << "it went on";
  } catch (const RunFailure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kInterrupted);
    EXPECT_STREQ(failure.what(), "interrupted by SIGINT; 0 of 1 checkpoints had been verified");
  }
}

}  // namespace
}  // namespace ckptsim::simulator
