#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "simulator/communicator/communicator.h"

namespace ckptsim::simulator {
namespace {

TEST(SerialCommunicator, IsAllThereIs) {
  const auto communicator = make_serial_communicator();
  EXPECT_EQ(communicator->processes(), 1);
  EXPECT_TRUE(communicator->any(true));
  EXPECT_FALSE(communicator->any(false));
  EXPECT_EQ(communicator->broadcast("x"), "x");
  EXPECT_THAT(communicator->gather("x", 0), ::testing::ElementsAre("x"));
  EXPECT_THAT(communicator->all_gather("x"), ::testing::ElementsAre("x"));
  EXPECT_FALSE(communicator->poll().has_value());
  EXPECT_THROW(communicator->post(0, {}), std::logic_error) << "a process sends nothing to itself";
}

}  // namespace
}  // namespace ckptsim::simulator
