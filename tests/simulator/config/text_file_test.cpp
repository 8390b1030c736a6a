#include "simulator/config/text_file.h"

#include <gmock/gmock.h>

#include "tests/simulator/config/config_testing.h"

namespace ckptsim::simulator {
namespace {

TEST(TextFile, ReadsEveryByte) {
  const TemporaryFolder folder;
  const std::string text = std::string(40000, 'x') + std::string("\0\r\n", 3);
  EXPECT_EQ(read_text_file(folder.write("a", text), text.size()), text);
}

TEST(TextFile, RefusesOneByteTooMany) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "12345");
  EXPECT_EQ(read_text_file(path, 5), "12345");
  EXPECT_EQ(error_of([&] { return read_text_file(path, 4); }),
            " | " + path +
                ": is larger than 4 bytes, more than any configuration needs; name a configuration file");
}

TEST(TextFile, StopsReadingAnEndlessDevice) {
  EXPECT_THAT(error_of([] { return read_text_file("/dev/zero", 1000); }),
              testing::HasSubstr("is larger than 1000"));
}

TEST(TextFile, SaysWhyAFileCannotBeRead) {
  const TemporaryFolder folder;
  const std::string missing = folder.path("missing.json");
  EXPECT_EQ(error_of([&] { return read_text_file(missing, 9); }),
            " | " + missing + ": cannot be read: No such file or directory");
  EXPECT_EQ(error_of([&] { return read_text_file(folder.path(), 9); }),
            " | " + folder.path() + ": cannot be read: Is a directory");
}

}  // namespace
}  // namespace ckptsim::simulator
