#include "storage/target/short_write.h"

#include <gtest/gtest.h>

namespace ckptsim::storage {
namespace {

TEST(ShortWrite, GoesOnWhereTheSystemStopped) {
  EXPECT_EQ(continue_at(0, 8192, 4096), 8192U);
  EXPECT_EQ(continue_at(4096, 4096, 4096), 8192U);
  EXPECT_EQ(continue_at(10, 7, 1), 17U);
}

TEST(ShortWrite, WritesAnOddEndAgainFromTheLastAlignedPlace) {
  EXPECT_EQ(continue_at(0, 8192 + 512, 4096), 8192U);
  EXPECT_EQ(continue_at(8192, 4096 + 1, 4096), 12288U);
}

TEST(ShortWrite, AlwaysMakesProgressSoThatAFullDriveCannotLoopForEver) {
  EXPECT_EQ(continue_at(0, 1024, 4096), 1024U);
  EXPECT_EQ(continue_at(4096, 512, 4096), 4608U);
  EXPECT_EQ(continue_at(1024, 512, 4096), 1536U);
}

}  // namespace
}  // namespace ckptsim::storage
