#include "models/training_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/config_error_matcher.h"

namespace ckptsim::models {

// For gmock's messages and matchers.
bool operator==(const StateTensor& a, const StateTensor& b) {
  return a.suffix == b.suffix && a.dtype == b.dtype && a.elements_per_value == b.elements_per_value;
}
bool operator==(const FixedTensor& a, const FixedTensor& b) {
  return a.name == b.name && a.dtype == b.dtype && a.elements == b.elements;
}

namespace {

using ::ckptsim::testing::throws_config_error;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TrainingState, Adam8bitKeepsTwoByteMomentsAndTheirScales) {
  const TrainingState& state = training_state("adam8bit");
  EXPECT_EQ(state.name, "adam8bit");
  EXPECT_EQ(state.weights, Dtype::kBFloat16);
  EXPECT_THAT(state.per_parameter,
              ElementsAre(StateTensor{"state1", Dtype::kUInt8, 1}, StateTensor{"state2", Dtype::kUInt8, 1},
                          StateTensor{"absmax1", Dtype::kFloat32, 256},
                          StateTensor{"absmax2", Dtype::kFloat32, 256}));
  EXPECT_THAT(state.per_file, ElementsAre(FixedTensor{"qmap1", Dtype::kFloat32, 256},
                                          FixedTensor{"qmap2", Dtype::kFloat32, 256}));
}

TEST(TrainingState, AdamMixedKeepsMasterWeightsAndTwoMomentsInFp32) {
  const TrainingState& state = training_state("adam-mixed");
  EXPECT_EQ(state.name, "adam-mixed");
  EXPECT_EQ(state.weights, Dtype::kBFloat16);
  EXPECT_THAT(state.per_parameter, ElementsAre(StateTensor{"master", Dtype::kFloat32, 1},
                                               StateTensor{"exp_avg", Dtype::kFloat32, 1},
                                               StateTensor{"exp_avg_sq", Dtype::kFloat32, 1}));
  EXPECT_THAT(state.per_file, IsEmpty());
}

TEST(TrainingState, WeightsOnlyKeepsNoOptimizerState) {
  const TrainingState& state = training_state("weights-only");
  EXPECT_EQ(state.name, "weights-only");
  EXPECT_EQ(state.weights, Dtype::kBFloat16);
  EXPECT_THAT(state.per_parameter, IsEmpty());
  EXPECT_THAT(state.per_file, IsEmpty());
}

TEST(TrainingState, AnUnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_THAT([] { return training_state("adam9bit"); },
              throws_config_error("/training_state", "adam8bit, adam-mixed, weights-only"));
  EXPECT_THAT([] { return training_state(""); }, throws_config_error("/training_state", "''"));
}

}  // namespace
}  // namespace ckptsim::models
