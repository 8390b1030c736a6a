#include "simulator/config/resources.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "simulator/config/text_file.h"

namespace ckptsim::simulator {
namespace {

TEST(Resources, HoldsEveryFileOfTheConfigsFolderByteForByte) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(CKPTSIM_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    const std::string kind = entry.path().parent_path().filename();
    const auto text = find_resource(kind, entry.path().stem().string());
    ASSERT_TRUE(text) << entry.path();
    EXPECT_EQ(*text, read_text_file(entry.path(), 1U << 24U)) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0U);
}

TEST(Resources, NamesAreSortedAndWithoutSuffix) {
  const auto names = resource_names("runs");
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(names, testing::Contains("llama3.1-405b-tp4pp2"));
  EXPECT_THAT(resource_names("schema"), testing::Contains("run.schema"));
}

TEST(Resources, KnowsNothingElse) {
  EXPECT_EQ(find_resource("models", "llama3.1-405b-tp4pp2"), std::nullopt);
  EXPECT_EQ(find_resource("models", ""), std::nullopt);
  EXPECT_TRUE(resource_names("nonsense").empty());
}

}  // namespace
}  // namespace ckptsim::simulator
