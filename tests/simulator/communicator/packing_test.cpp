#include "simulator/communicator/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace ckptsim::simulator {
namespace {

TEST(Packing, TextsOfAnyBytesComeBack) {
  const std::vector<std::string> parts = {"", "a:b", std::string("\0\n", 2),
                                          "12:", std::string(100'000, 'x')};
  EXPECT_EQ(unpack(pack(parts)), parts);
  EXPECT_TRUE(unpack(pack({})).empty());
}

TEST(Packing, RefusesWhatItDidNotMake) {
  for (const char* damaged : {"3:ab", "x", "5", "-1:a", "99999999999999999999:a", "1:ab"}) {
    EXPECT_THROW((void)unpack(damaged), std::invalid_argument) << damaged;
  }
}

}  // namespace
}  // namespace ckptsim::simulator
