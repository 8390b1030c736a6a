#include "simulator/tune/grid.h"

#include <gmock/gmock.h>

namespace ckptsim::simulator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

RunConfig config(const std::vector<std::string>& overrides = {}) {
  return load_run_config("llama3.1-405b-tp4pp2", overrides);
}

std::vector<std::string> keys(const std::vector<Dimension>& dimensions) {
  std::vector<std::string> names;
  names.reserve(dimensions.size());
  for (const Dimension& dimension : dimensions)
    names.push_back(dimension.key);
  return names;
}

TEST(Grid, BeginsWithTheConfiguredValue) {
  const std::vector<Dimension> dimensions = dimensions_to_vary(config(), {}, true);
  ASSERT_THAT(keys(dimensions),
              ::testing::IsSupersetOf({"storage.block_bytes", "storage.queue_depth", "storage.preallocate"}));
  EXPECT_THAT(dimensions[0].values, ElementsAre("4194304", "1048576", "2097152", "8388608", "16777216"));
  EXPECT_THAT(dimensions[1].values, ElementsAre("4", "2", "8", "16"));
}

TEST(Grid, TakesAConfiguredValueInThatItDoesNotHave) {
  const std::vector<Dimension> dimensions = dimensions_to_vary(config({"storage.queue_depth=5"}), {}, true);
  EXPECT_THAT(dimensions[1].values, ElementsAre("5", "2", "4", "8", "16"));
}

TEST(Grid, LeavesOutWhatTheUserFixed) {
  const std::vector<std::string> fixed = {"storage.queue_depth=8", "scale=0.1"};
  EXPECT_THAT(keys(dimensions_to_vary(config(fixed), fixed, true)),
              ::testing::AllOf(Not(Contains("storage.queue_depth")), Contains("storage.block_bytes")));
  const std::vector<std::string> whole_object = {"storage={\"queue_depth\":8}"};
  EXPECT_THAT(dimensions_to_vary(config(whole_object), whole_object, true), ::testing::IsEmpty());
}

TEST(Grid, LeavesOutWhatOnlyIoUringHas) {
  EXPECT_THAT(keys(dimensions_to_vary(config(), {}, false)),
              ElementsAre("storage.block_bytes", "storage.preallocate", "storage.huge_pages"));
  EXPECT_THAT(grid_keys(false),
              ElementsAre("storage.block_bytes", "storage.preallocate", "storage.huge_pages"));
  EXPECT_THAT(grid_keys(true), Contains("storage.queue_depth"));
}

TEST(Grid, HoldsValuesThatTheSchemaTakes) {
  for (const Dimension& dimension : dimensions_to_vary(config(), {}, true)) {
    for (const std::string& value : dimension.values)
      EXPECT_NO_THROW(config({dimension.key + "=" + value})) << dimension.key << "=" << value;
  }
}

}  // namespace
}  // namespace ckptsim::simulator
