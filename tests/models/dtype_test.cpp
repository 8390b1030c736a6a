#include "models/dtype.h"

#include <gtest/gtest.h>

namespace ckptsim::models {
namespace {

TEST(Dtype, KnowsBytesAndNameOfEach) {
  EXPECT_EQ(size_bytes(Dtype::kBFloat16), 2);
  EXPECT_EQ(size_bytes(Dtype::kFloat32), 4);
  EXPECT_EQ(size_bytes(Dtype::kUInt8), 1);
  EXPECT_EQ(name(Dtype::kBFloat16), "bf16");
  EXPECT_EQ(name(Dtype::kFloat32), "fp32");
  EXPECT_EQ(name(Dtype::kUInt8), "uint8");
}

}  // namespace
}  // namespace ckptsim::models
