#include "simulator/tune/checkpoint_size.h"

#include <gtest/gtest.h>

#include "simulator/plan/plan.h"

namespace ckptsim::simulator {
namespace {

constexpr std::uint64_t kMillion = 1000000;

RunConfig main_job() {
  return load_run_config("llama3.1-405b-tp4pp2", {});
}

TEST(CheckpointSize, KeepsTheRanksAndComesNearTheBytes) {
  for (const std::uint64_t wanted : {64 * kMillion, 1000 * kMillion, 30000 * kMillion, 300000 * kMillion}) {
    const RunConfig sized = sized_to(main_job(), wanted);
    const RunPlan plan = make_plan(sized);
    EXPECT_EQ(plan.ranks.size(), 8U);
    EXPECT_NEAR(static_cast<double>(plan.file_bytes), static_cast<double>(wanted),
                0.02 * static_cast<double>(wanted));
  }
}

TEST(CheckpointSize, LeavesLayersOutBeforeItScales) {
  const RunConfig sized = sized_to(main_job(), 1000 * kMillion);
  EXPECT_EQ(sized.model.layers, 2);  // one a stage
  EXPECT_EQ(make_plan(sized).files, 24U);
  EXPECT_GT(sized_to(main_job(), 300000 * kMillion).model.layers, 2);
}

TEST(CheckpointSize, IsNeverMoreThanTheWholeModel) {
  const RunConfig sized = sized_to(main_job(), 10000000 * kMillion);
  EXPECT_EQ(sized.scale, 1);
  EXPECT_EQ(sized.model.layers, main_job().model.layers);
  EXPECT_EQ(make_plan(sized).file_bytes, make_plan(main_job()).file_bytes);
}

}  // namespace
}  // namespace ckptsim::simulator
