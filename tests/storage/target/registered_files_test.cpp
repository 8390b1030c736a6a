#include "storage/target/registered_files.h"

#include <gtest/gtest.h>

namespace ckptsim::storage {
namespace {

TEST(RegisteredFiles, AFileKeepsItsPlaceFromItsFirstWriteToItsClose) {
  RegisteredFiles files(3);
  const auto first = files.transfer_begins(7);
  EXPECT_TRUE(first.is_new);
  const auto again = files.transfer_begins(7);
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.slot, first.slot);
  files.transfer_ended(7);
  files.transfer_ended(7);
  EXPECT_EQ(files.forget(7), first.slot);
  EXPECT_FALSE(files.forget(7).has_value());
}

TEST(RegisteredFiles, TheFileThatWasIdleForLongestMakesRoom) {
  RegisteredFiles files(2);
  const auto one = files.transfer_begins(1);
  const auto two = files.transfer_begins(2);
  files.transfer_ended(2);
  files.transfer_ended(1);
  EXPECT_EQ(files.transfer_begins(1).slot, one.slot);
  files.transfer_ended(1);
  const auto three = files.transfer_begins(3);
  EXPECT_TRUE(three.is_new);
  EXPECT_EQ(three.slot, two.slot);
  EXPECT_FALSE(files.forget(2).has_value()) << "it has lost its place";
}

TEST(RegisteredFiles, AFileWithAWriteInFlightNeverMakesRoom) {
  RegisteredFiles files(2);
  const auto busy = files.transfer_begins(1);
  for (int file = 2; file < 10; ++file) {
    EXPECT_NE(files.transfer_begins(file).slot, busy.slot);
    files.transfer_ended(file);
  }
}

TEST(RegisteredFilesDeathTest, ClosingAFileWithWritesInFlightIsAMistake) {
  RegisteredFiles files(2);
  (void)files.transfer_begins(1);
  EXPECT_DEATH((void)files.forget(1), "in flight");
}

}  // namespace
}  // namespace ckptsim::storage
