#include "storage/target/make_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/errors.h"

namespace ckptsim::storage {
namespace {

TEST(MakeTarget, RefusesBlocksThatTheDriveCannotTakeDirectly) {
  const SteadyClock clock;
  for (const Backend backend : {Backend::kDirect, Backend::kIoUring}) {
    try {
      (void)make_target({backend, 8192, 2, 16384, RegisteredBuffers::kAuto}, clock);
      FAIL() << "made a target";
    } catch (const UnsuitableTarget& refusal) {
      EXPECT_THAT(refusal.what(), testing::HasSubstr("16384"));
      EXPECT_THAT(refusal.what(), testing::HasSubstr("block_bytes"));
    }
  }
}

TEST(MakeTarget, TheAlignmentOfADriveIsNothingToBufferedAndNull) {
  const SteadyClock clock;
  for (const Backend backend : {Backend::kBuffered, Backend::kNull}) {
    const auto target = make_target({backend, 8192, 2, 16384, RegisteredBuffers::kAuto}, clock);
    EXPECT_EQ(target->io_alignment(), 1U);
  }
}

TEST(MakeTarget, BuffersSuitAnAlignmentAboveAPage) {
  const SteadyClock clock;
  const auto target = make_target({Backend::kDirect, 65536, 2, 65536, RegisteredBuffers::kAuto}, clock);
  const Buffer buffer = target->take_buffer();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.bytes().data()) % 65536, 0U);
}

}  // namespace
}  // namespace ckptsim::storage
