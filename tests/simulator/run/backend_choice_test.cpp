#include "simulator/run/backend_choice.h"

#include <gtest/gtest.h>

#include "simulator/engine/failure.h"

namespace ckptsim::simulator {
namespace {

using storage::Backend;

TEST(DecideBackend, AutoIsIoUringWhereEveryProcessMayUseIt) {
  const BackendChoice choice = decide_backend("auto", {"", ""});
  EXPECT_EQ(choice.backend, Backend::kIoUring);
  EXPECT_TRUE(choice.direct_io());
}

TEST(DecideBackend, AutoIsDirectWithTheReasonWhereAnyProcessMayNotAndNeverBuffered) {
  const BackendChoice choice = decide_backend("auto", {"", "Operation not permitted"});
  EXPECT_EQ(choice.backend, Backend::kDirect);
  EXPECT_TRUE(choice.direct_io());
  EXPECT_NE(choice.reason.find("Operation not permitted"), std::string::npos);
}

TEST(DecideBackend, IoUringAskedForIsNeverReplaced) {
  EXPECT_EQ(decide_backend("io_uring", {""}).backend, Backend::kIoUring);
  EXPECT_THROW((void)decide_backend("io_uring", {"", "refused"}), RunFailure);
}

TEST(DecideBackend, TheOthersAreTakenAsAsked) {
  EXPECT_EQ(decide_backend("direct", {"refused"}).backend, Backend::kDirect);
  EXPECT_EQ(decide_backend("buffered", {""}).backend, Backend::kBuffered);
  EXPECT_FALSE(decide_backend("buffered", {""}).direct_io());
  EXPECT_EQ(decide_backend("null", {""}).backend, Backend::kNull);
}

}  // namespace
}  // namespace ckptsim::simulator
