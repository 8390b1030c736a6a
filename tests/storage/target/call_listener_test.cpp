#include "storage/call_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "storage/target/marked_directory.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

class Heard final : public CallListener {
 public:
  std::vector<std::string> calls;

 private:
  void about_to(std::string_view doing, const std::filesystem::path& path) override {
    calls.push_back(std::string(doing) + " " + path.string());
  }
};

TEST(CallListener, AllOfAThreadHearWhatIsToldWhileTheyAreThere) {
  CallListener::tell("removing", "before");
  Heard outer;
  {
    Heard inner;
    CallListener::tell("removing", "a");
    EXPECT_THAT(inner.calls, ElementsAre("removing a"));
  }
  std::thread([] { CallListener::tell("removing", "another thread's"); }).join();
  CallListener::tell("opening", "b");
  EXPECT_THAT(outer.calls, ElementsAre("removing a", "opening b"));
}

// Each file of a long removal, so that only one that hangs is taken for a hang.
TEST(CallListener, HearsOfEveryFileThatIsRemoved) {
  const test::TemporaryFolder target;
  MarkedDirectory directory(target.path());
  directory.make_checkpoint_folder("run", 1);
  const std::filesystem::path folder = MarkedDirectory::checkpoint_path(target.path(), "run", 1);
  for (const char* name : {"mp_rank_00_model_states.pt", "mp_rank_01_model_states.pt"})
    test::write_text(folder / name, "x");
  const Heard heard;
  directory.remove_run("run");
  for (const char* name : {"mp_rank_00_model_states.pt", "mp_rank_01_model_states.pt"})
    EXPECT_THAT(heard.calls, Contains("removing " + (folder / name).string()));
  EXPECT_THAT(heard.calls, Contains("in fsync of " + directory.path().string()));
}

}  // namespace
}  // namespace ckptsim::storage
