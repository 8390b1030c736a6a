#include "simulator/run/file_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "storage/errors.h"

namespace ckptsim::simulator {
namespace {

class FileLimit : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0); }
  void TearDown() override { ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

  static rlim_t soft() {
    rlimit limit{};
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit.rlim_cur;
  }

  rlimit before_{};
};

TEST_F(FileLimit, RaisesTheSoftLimitAndNeverLowersIt) {
  const rlimit low{64, before_.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  allow_open_files(100);
  EXPECT_EQ(soft(), 100U);
  allow_open_files(10);
  EXPECT_EQ(soft(), 100U);
}

TEST_F(FileLimit, RefusesWhatTheHardLimitDoesNotAllow) {
  EXPECT_THROW(allow_open_files(static_cast<std::uint64_t>(before_.rlim_max) + 1), storage::UnsuitableTarget);
}

}  // namespace
}  // namespace ckptsim::simulator
