#include "simulator/config/documents.h"

#include <gmock/gmock.h>

#include "tests/simulator/config/config_testing.h"

namespace ckptsim::simulator {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Documents, FindsAShippedFileByName) {
  const Document document = find_document("models", "llama3.1-8b", {}, {});
  EXPECT_EQ(document.value["layers"], 32);
  EXPECT_EQ(document.origin, "configs/models/llama3.1-8b.json");
}

TEST(Documents, FindsAPathRelativeToTheFolder) {
  const TemporaryFolder folder;
  const std::string path = folder.write("models/tiny.json", R"({"layers": 1})");
  for (const char* const text : {"models/tiny.json", "./models/tiny.json"}) {
    EXPECT_EQ(find_document("models", text, folder.path(), {}).value["layers"], 1) << text;
  }
  EXPECT_EQ(find_document("models", path, "/nonexistent", {}).folder, folder.path("models"));
}

TEST(Documents, TakesANameWithoutSuffixForAFileWhereThereIsOne) {
  const TemporaryFolder folder;
  static_cast<void>(folder.write("llama3.1-8b", R"({"layers": 1})"));
  EXPECT_EQ(find_document("models", "llama3.1-8b", folder.path(), {}).value["layers"], 1);
}

TEST(Documents, ResultFolderOfTheSameNameDoesNotHideAShippedFile) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("llama3.1-8b"));
  EXPECT_EQ(find_document("models", "llama3.1-8b", folder.path(), {}).value["layers"], 32);
}

TEST(Documents, UnknownNameListsTheKnownOnesAndTheNearest) {
  EXPECT_THAT(
      error_of([] {
        return find_document("models", "llama3.1-8B", {}, {"run.json", {"model"}});
      }),
      AllOf(HasSubstr(
                "/model | run.json: model \"llama3.1-8B\" is neither a file nor one of the shipped models"),
            HasSubstr("llama3.1-405b, llama3.1-70b, llama3.1-8b"), HasSubstr("; did you mean llama3.1-8b?")));
  EXPECT_THAT(error_of([] { return find_document("runs", "", {}, {}); }),
              AllOf(HasSubstr(" | \"\" is neither a file nor one of the shipped runs"),
                    Not(HasSubstr("did you mean"))));
}

TEST(Documents, NamesTheFileThatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { return find_document("runs", "no.json", folder.path(), {}); }),
            " | " + folder.path("no.json") + ": cannot be read: No such file or directory");
  const std::string broken = folder.write("broken.json", "{");
  EXPECT_THAT(error_of([&] { return find_document("runs", broken, {}, {}); }),
              HasSubstr(" | " + broken + ": line 1, column 2: "));
}

}  // namespace
}  // namespace ckptsim::simulator
