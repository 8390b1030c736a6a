#include "models/invariant.h"

#include <gtest/gtest.h>

namespace ckptsim {
namespace {

TEST(InvariantDeathTest, AbortsInEveryBuildAndNamesTheBrokenRule) {
  require(true, "holds");
  EXPECT_DEATH(require(false, "one and one are two"), "ckptsim: broken invariant: one and one are two");
}

}  // namespace
}  // namespace ckptsim
