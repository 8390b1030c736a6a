#include "storage/torch/value_kind.h"

#include <gtest/gtest.h>

namespace ckptsim::storage::torch {
namespace {

TEST(ValueKind, FollowsTheElementType) {
  EXPECT_EQ(value_kind("decoder.layers.0.mlp.linear_fc1.weight", ScalarType::kBFloat16),
            ValueKind::kBFloat16);
  EXPECT_EQ(value_kind("weight.master", ScalarType::kFloat32), ValueKind::kFloat32);
  EXPECT_EQ(value_kind("weight.state1", ScalarType::kUInt8), ValueKind::kBytes);
}

TEST(ValueKind, OfSecondMomentsAndScalesIsNotNegative) {
  for (const char* key : {"weight.exp_avg_sq", "exp_avg_sq", "weight.absmax1", "weight.absmax2"}) {
    EXPECT_EQ(value_kind(key, ScalarType::kFloat32), ValueKind::kFloat32NonNegative) << key;
  }
  EXPECT_EQ(value_kind("weight.exp_avg", ScalarType::kFloat32), ValueKind::kFloat32);
  EXPECT_EQ(value_kind("exp_avg_sq.weight", ScalarType::kFloat32), ValueKind::kFloat32);
}

}  // namespace
}  // namespace ckptsim::storage::torch
