#include "storage/target/short_transfer.h"

#include <gtest/gtest.h>

namespace ckptsim::storage {
namespace {

TEST(ShortTransfer, GoesOnWhereTheSystemStopped) {
  EXPECT_EQ(continue_at(0, 8192, 4096), 8192U);
  EXPECT_EQ(continue_at(4096, 4096, 4096), 8192U);
  EXPECT_EQ(continue_at(10, 7, 1), 17U);
}

TEST(ShortTransfer, WritesAnOddEndAgainFromTheLastAlignedPlace) {
  EXPECT_EQ(continue_at(0, 8192 + 512, 4096), 8192U);
  EXPECT_EQ(continue_at(8192, 4096 + 1, 4096), 12288U);
}

TEST(ShortTransfer, AlwaysMakesProgressSoThatAFullDriveCannotLoopForEver) {
  EXPECT_EQ(continue_at(0, 1024, 4096), 1024U);
  EXPECT_EQ(continue_at(4096, 512, 4096), 4608U);
  EXPECT_EQ(continue_at(1024, 512, 4096), 1536U);
}

TEST(ShortTransfer, AReadEndsWhereTheFileDoesAndNowhereElse) {
  EXPECT_TRUE(read_met_the_end(0, 4096));
  EXPECT_TRUE(read_met_the_end(1000, 4096));
  EXPECT_FALSE(read_met_the_end(8192, 4096));
  EXPECT_TRUE(read_met_the_end(0, 1));
  EXPECT_FALSE(read_met_the_end(1000, 1)) << "a buffered read can be short anywhere";
}

}  // namespace
}  // namespace ckptsim::storage
