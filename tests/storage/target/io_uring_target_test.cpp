#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <chrono>
#include <string>
#include <utility>

#include "storage/errors.h"
#include "storage/target/make_target.h"
#include "tests/storage/support/child.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

using testing::HasSubstr;

class IoUringTargetDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = io_uring_refusal(); !reason.empty()) GTEST_SKIP() << reason;
  }
};

constexpr int kManyWrites = 500'000;

std::unique_ptr<Target> make(RegisteredBuffers registered) {
  static const SteadyClock clock;
  return make_target({Backend::kIoUring, 1U << 20U, 4, 4096, registered}, clock);
}

std::string complain_unless(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos ? "" : "no \"" + part + "\" in: " + text + "\n";
}

TEST_F(IoUringTargetDeathTest, SaysThatBuffersWereLeftUnregisteredOnRequest) {
  const TargetFacts facts = make(RegisteredBuffers::kOff)->facts();
  EXPECT_FALSE(facts.registered_buffers);
  EXPECT_THAT(facts.registered_reason, HasSubstr("off"));
}

TEST_F(IoUringTargetDeathTest, LeftToItselfItGoesWithoutRegisteredBuffersAndNamesTheLimit) {
  test::expect_in_child([]() -> std::string {
    if (!test::limit_locked_memory(65536)) return "no limit could be set";
    const TargetFacts facts = make(RegisteredBuffers::kAuto)->facts();
    if (facts.registered_buffers) return "registered in spite of the limit";
    return complain_unless(facts.registered_reason, "RLIMIT_MEMLOCK") +
           complain_unless(facts.registered_reason, "65536 bytes");
  });
}

TEST_F(IoUringTargetDeathTest, AskedForRegisteredBuffersItRefusesToGoWithoutAndNamesTheLimit) {
  test::expect_in_child([]() -> std::string {
    if (!test::limit_locked_memory(65536)) return "no limit could be set";
    try {
      (void)make(RegisteredBuffers::kOn);
    } catch (const UnsuitableTarget& refusal) {
      return complain_unless(refusal.what(), "RLIMIT_MEMLOCK") +
             complain_unless(refusal.what(), "65536 bytes");
    }
    return "went without";
  });
}

TEST_F(IoUringTargetDeathTest, RegistersBuffersWhereTheLimitAllows) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  if (geteuid() != 0 && limit.rlim_cur < (8U << 20U)) {
    GTEST_SKIP() << "the limit on locked memory is below 8 MiB; the two tests above hold what happens then";
  }
  test::expect_in_child([]() -> std::string {
    const TargetFacts facts = make(RegisteredBuffers::kOn)->facts();
    return facts.registered_buffers && facts.registered_reason.empty() ? "" : facts.registered_reason + "?";
  });
}

TEST_F(IoUringTargetDeathTest, WhereAContainerForbidsIoUringTheRefusalHasTheSystemsWordsAndAWayOut) {
  test::expect_in_child([]() -> std::string {
    if (!test::forbid_system_call(SYS_io_uring_setup, EPERM)) return "no filter could be set";
    const std::string system_words = std::system_category().message(EPERM);
    std::string complaints = complain_unless(io_uring_refusal(), system_words);
    try {
      (void)make(RegisteredBuffers::kAuto);
      complaints += "made a target all the same\n";
    } catch (const UnsuitableTarget& refusal) {
      complaints += complain_unless(refusal.what(), system_words) + complain_unless(refusal.what(), "direct");
    }
    return complaints;
  });
}

// The kernel's thread may take an entry up between the two looks with which liburing counts what it has yet
// to take: about once in a quarter of a million submissions. Writes to a file that is not open are as good as
// any here, and quick.
TEST_F(IoUringTargetDeathTest, SubmissionPollingKeepsUpThroughHundredsOfThousandsOfWrites) {
  static const SteadyClock clock;
  const auto target = make_target(
      {.backend = Backend::kIoUring, .block_bytes = 4096, .queue_depth = 1, .submission_polling = true},
      clock);
  for (int i = 0; i < kManyWrites; ++i) {
    Request write;
    write.kind = Request::Kind::kWrite;
    write.length = 4096;
    write.buffer = target->take_buffer();
    target->submit(std::move(write));
    Completion completion;
    while (!target->poll(completion)) {
    }
    ASSERT_EQ(completion.error.value(), EBADF);
  }
}

// The engine polls between pieces of content that it generates: with a system call each, that would cost more
// than it gains.
TEST_F(IoUringTargetDeathTest, SeesACompletionWithoutASystemCall) {
  const test::TemporaryFolder folder;
  test::expect_in_child([&]() -> std::string {
    const auto target = make(RegisteredBuffers::kAuto);
    Completion completion;
    Request open;
    open.kind = Request::Kind::kOpen;
    open.path = (folder / "file").string();
    target->submit(std::move(open));
    target->wait(completion);
    if (completion.error) return "open: " + completion.error.message();
    Request write;
    write.kind = Request::Kind::kWrite;
    write.length = target->block_bytes();
    write.buffer = target->take_buffer();
    target->submit(std::move(write));
    if (!test::forbid_system_call(SYS_io_uring_enter, EPERM)) return "no filter could be set";
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!target->poll(completion)) {
      if (std::chrono::steady_clock::now() > deadline) return "the completion never showed";
    }
    return completion.error ? "write: " + completion.error.message() : "";
  });
}

}  // namespace
}  // namespace ckptsim::storage
