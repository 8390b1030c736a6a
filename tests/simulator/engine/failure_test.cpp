#include "simulator/engine/failure.h"

#include <gtest/gtest.h>

#include <system_error>

#include "models/errors.h"
#include "storage/errors.h"

namespace ckptsim::simulator {
namespace {

ExitCode code_of(const std::function<void()>& work) {
  const auto communicator = make_serial_communicator();
  try {
    together(*communicator, ExitCode::kInputOutput, work);
  } catch (const RunFailure& failure) {
    return failure.code();
  }
  return ExitCode::kDone;
}

TEST(Together, TurnsEveryKindOfErrorIntoTheDesignsExitCode) {
  EXPECT_EQ(code_of([] {}), ExitCode::kDone);
  EXPECT_EQ(code_of([] { throw ConfigError("/scale", "scale must be above 0"); }), ExitCode::kUsage);
  EXPECT_EQ(code_of([] { throw storage::UnsuitableTarget("no"); }), ExitCode::kUnsuitable);
  EXPECT_EQ(code_of([] { throw std::system_error(5, std::generic_category(), "write"); }),
            ExitCode::kInputOutput);
  EXPECT_EQ(code_of([] { throw storage::FormatError("a.pt: not planned so"); }), ExitCode::kVerification);
  EXPECT_EQ(code_of([] { throw std::bad_alloc(); }), ExitCode::kInputOutput);
}

TEST(Together, LetsADefectThrough) {
  EXPECT_THROW((void)code_of([] { throw std::logic_error("a defect"); }), std::logic_error);
}

TEST(Agree, NamesTheRankAndItsHost) {
  const auto communicator = make_serial_communicator();
  try {
    agree(*communicator,
          Failure{.code = ExitCode::kInputOutput, .message = "cannot write\nf", .host = "node7", .rank = 3});
    FAIL() << "a failure must be thrown";
  } catch (const RunFailure& failure) {
    EXPECT_STREQ(failure.what(), "rank 3 on node7: cannot write\nf");
    EXPECT_EQ(failure.code(), ExitCode::kInputOutput);
  }
}

}  // namespace
}  // namespace ckptsim::simulator
