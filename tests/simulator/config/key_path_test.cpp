#include "simulator/config/key_path.h"

#include <gtest/gtest.h>

namespace ckptsim::simulator {
namespace {

TEST(KeyPath, WritesKeysWithDotsAndIndicesInBrackets) {
  EXPECT_EQ(dotted({"storage", "targets", "0"}), "storage.targets[0]");
  EXPECT_EQ(dotted({"name"}), "name");
  EXPECT_EQ(dotted({}), "");
}

TEST(KeyPath, EscapesJsonPointersAsRfc6901Says) {
  EXPECT_EQ(json_pointer({"storage", "targets", "0"}), "/storage/targets/0");
  EXPECT_EQ(json_pointer({"a/b~c"}), "/a~1b~0c");
  EXPECT_EQ(json_pointer({""}), "/");
  EXPECT_EQ(json_pointer({}), "");
}

TEST(KeyPath, SplitsAtEveryDot) {
  EXPECT_EQ(split_dotted("storage.queue_depth"), (KeyPath{"storage", "queue_depth"}));
  EXPECT_EQ(split_dotted("name"), KeyPath{"name"});
  EXPECT_EQ(split_dotted("a..b."), (KeyPath{"a", "", "b", ""}));
}

TEST(KeyPath, IsWithinItselfAndWhatIsAroundIt) {
  EXPECT_TRUE(is_within({"model", "layers"}, {"model"}));
  EXPECT_TRUE(is_within({"model"}, {"model"}));
  EXPECT_TRUE(is_within({"model"}, {}));
  EXPECT_FALSE(is_within({"model"}, {"model", "layers"}));
  EXPECT_FALSE(is_within({"models"}, {"model"}));
}

}  // namespace
}  // namespace ckptsim::simulator
