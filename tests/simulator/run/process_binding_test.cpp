#include "simulator/run/process_binding.h"

#include <gtest/gtest.h>

namespace ckptsim::simulator {
namespace {

constexpr const char* kStatus =
    "Name:\tckptsim\nCpus_allowed:\tff\nCpus_allowed_list:\t0-31,64\nMems_allowed_list:\t0-1\nx:\t1\n";

TEST(ProcessBinding, IsWhatTheKernelListsForTheProcess) {
  const ProcessBinding binding = parse_binding(kStatus);
  EXPECT_EQ(binding.processors, "0-31,64");
  EXPECT_EQ(binding.memory_nodes, "0-1");
}

TEST(ProcessBinding, IsUnknownWhereTheKernelDoesNotSay) {
  EXPECT_EQ(parse_binding("Name:\tckptsim\n").processors, "unknown");
  EXPECT_EQ(parse_binding("").memory_nodes, "unknown");
}

TEST(ProcessBinding, OfThisProcessIsKnown) {
  const auto communicator = make_serial_communicator();
  const std::vector<ProcessBinding> bindings = gather_bindings(*communicator);
  ASSERT_EQ(bindings.size(), 1U);
  EXPECT_NE(bindings[0].processors, "unknown");
  EXPECT_NE(bindings[0].memory_nodes, "unknown");
  EXPECT_FALSE(bindings[0].host.empty());
}

TEST(ProcessBinding, IsOneSentenceForEachHost) {
  EXPECT_EQ(
      binding_words({{0, "a", "0-1", "0"}, {1, "a", "0-1", "0"}, {2, "b", "4", "1"}}),
      "a: 2 processes on processors 0-1 and memory node 0; b: 1 process on processors 4 and memory node 1");
}

TEST(ProcessBinding, SaysThatProcessesAreBoundApart) {
  EXPECT_EQ(binding_words({{0, "a", "0", "0"}, {1, "a", "1", "0"}}),
            "a: 2 processes bound to 2 different places, from processors 0 and memory node 0 on");
}

}  // namespace
}  // namespace ckptsim::simulator
