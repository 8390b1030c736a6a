#include "storage/target/cleaning.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>
#include <set>
#include <string>

#include "storage/descriptor.h"
#include "storage/errors.h"
#include "storage/target/marked_directory.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

namespace fs = std::filesystem;
using test::write_text;
using testing::HasSubstr;

class Clean : public testing::Test {
 protected:
  Clean() {
    MarkedDirectory directory(target_.path());
    for (const char* run : {"one", "two"}) {
      for (const int checkpoint : {1, 2}) {
        directory.make_checkpoint_folder(run, checkpoint);
        const fs::path folder = MarkedDirectory::checkpoint_path(target_.path(), run, checkpoint);
        write_text(folder / "mp_rank_00_model_states.pt", "12345");
        write_text(folder / "zero_pp_rank_0_mp_rank_00_optim_states.pt", "123");
        directory.publish_manifest(run, checkpoint, "manifest.json", "{}");
      }
    }
    write_text(target_ / "notes.txt", "mine");
    fs::create_directory(target_ / "lost+found");
  }

  [[nodiscard]] std::set<fs::path> everything() const {
    std::set<fs::path> all;
    for (const auto& entry : fs::recursive_directory_iterator(target_.path()))
      all.insert(fs::relative(entry.path(), target_.path()));
    return all;
  }

  [[nodiscard]] Cleaning clean_at(const fs::path& folder) const {
    return clean(cleaning_scope(target_ / folder));
  }

  [[nodiscard]] std::string refusal_at(const fs::path& folder) const {
    try {
      (void)clean_at(folder);
    } catch (const UnsuitableTarget& refused) {
      return refused.what();
    }
    return "(not refused)";
  }

  test::TemporaryFolder target_;
};

TEST_F(Clean, RemovesAllThatRunsMadeFromATargetAndItsMarkedFolder) {
  for (const char* folder : {"", "ckptsim"}) {
    SCOPED_TRACE(folder);
    if (!fs::exists(target_ / "ckptsim")) MarkedDirectory(target_.path()).make_checkpoint_folder("one", 1);
    write_text(target_ / "ckptsim/.ckptsim-probe-abcdef", "");
    const Cleaning cleaning = clean_at(folder);
    EXPECT_EQ(cleaning.marked_directory, target_ / "ckptsim");
    EXPECT_EQ(everything(), (std::set<fs::path>{"lost+found", "notes.txt"}));
  }
}

TEST_F(Clean, SaysWhatItRemovedAndWhatItWould) {
  const auto check = [](const Cleaning& cleaning) {
    ASSERT_EQ(cleaning.runs.size(), 2U);
    EXPECT_EQ(cleaning.runs[1].name, "two");
    EXPECT_EQ(cleaning.runs[1].contents.checkpoints, 2U);
    EXPECT_EQ(cleaning.runs[1].contents.files, 6U);
    EXPECT_EQ(cleaning.runs[1].contents.file_bytes, 20U);
  };
  const std::set<fs::path> before = everything();
  check(survey_cleaning(cleaning_scope(target_.path())));
  EXPECT_EQ(everything(), before);
  check(clean_at(""));
}

TEST_F(Clean, RemovesOneRunOrOneCheckpointAndLeavesTheRest) {
  const CleanedRun kept = clean_at("ckptsim/one/checkpoint_02").runs.at(0);
  EXPECT_EQ(kept.contents.files, 3U);
  EXPECT_FALSE(kept.whole);
  EXPECT_FALSE(fs::exists(target_ / "ckptsim/one/checkpoint_02"));
  EXPECT_TRUE(fs::exists(target_ / "ckptsim/one/checkpoint_01/manifest.json"));
  EXPECT_TRUE(clean_at("ckptsim/one/checkpoint_01").runs.at(0).whole);
  EXPECT_FALSE(fs::exists(target_ / "ckptsim/one")) << "a run without checkpoints";
  EXPECT_EQ(clean_at("ckptsim/two").runs.at(0).contents.checkpoints, 2U);
  EXPECT_EQ(everything(), (std::set<fs::path>{"ckptsim", "ckptsim/.ckptsim-directory", "ckptsim/.lock",
                                              "lost+found", "notes.txt"}));
  EXPECT_THROW((void)clean({target_.path(), "one", ""}), UnsuitableTarget);
}

TEST_F(Clean, RemovesNothingWhereAnythingForeignIs) {
  for (const char* foreign : {"ckptsim/thesis.tex", "ckptsim/two/notes", "ckptsim/two/checkpoint_02/notes",
                              "ckptsim/two/checkpoint_02/my_thesis_model.pt"}) {
    SCOPED_TRACE(foreign);
    write_text(target_ / foreign, "years of work");
    const std::set<fs::path> before = everything();
    EXPECT_THAT(refusal_at(""), HasSubstr((target_ / foreign).string()));
    EXPECT_THROW((void)survey_cleaning(cleaning_scope(target_.path())), UnsuitableTarget);
    EXPECT_EQ(everything(), before);
    fs::remove(target_ / foreign);
  }
}

TEST_F(Clean, RemovesNothingWhereAFolderLiesAmongTheFilesOfACheckpoint) {
  const fs::path mine = target_ / "ckptsim/two/checkpoint_02/mine";
  fs::create_directory(mine);
  for (const bool with_file : {false, true}) {
    if (with_file) write_text(mine / "mp_rank_00_model_states.pt", "years of work");
    const std::set<fs::path> before = everything();
    for (const char* scope : {"", "ckptsim/two", "ckptsim/two/checkpoint_02"})
      EXPECT_THAT(refusal_at(scope), HasSubstr(mine.string()));
    EXPECT_EQ(everything(), before);
  }
}

TEST_F(Clean, OfOneRunAsksForThatRunAlone) {
  write_text(target_ / "ckptsim/two/notes", "years of work");
  EXPECT_EQ(refusal_at("ckptsim/one"), "(not refused)");
  EXPECT_THAT(refusal_at("ckptsim/two"), HasSubstr("notes"));
  EXPECT_EQ(refusal_at("ckptsim/two/checkpoint_01"), "(not refused)");
  EXPECT_EQ(test::read_file(target_ / "ckptsim/two/notes"), "years of work");
}

TEST_F(Clean, TouchesNothingThatIsNoTarget) {
  const std::set<fs::path> before = everything();
  fs::create_directories(target_ / "elsewhere/ckptsim");
  write_text(target_ / "elsewhere/ckptsim/mp_rank_00_model_states.pt", "not ours");
  for (const char* folder : {"lost+found", "missing", "notes.txt", "elsewhere", "elsewhere/ckptsim",
                             "ckptsim/one/checkpoint_01/mp_rank_00_model_states.pt", "ckptsim/missing"})
    EXPECT_NE(refusal_at(folder), "(not refused)") << folder;
  fs::remove_all(target_ / "elsewhere");
  EXPECT_EQ(everything(), before);
}

TEST_F(Clean, FollowsNoLinkInPlaceOfAFolder) {
  const test::TemporaryFolder elsewhere;
  fs::create_directory(elsewhere / "checkpoint_01");
  write_text(elsewhere / "checkpoint_01/mp_rank_00_model_states.pt", "precious");
  fs::create_directory_symlink(elsewhere.path(), target_ / "ckptsim/three");
  EXPECT_THAT(refusal_at(""), HasSubstr("three"));
  EXPECT_NE(refusal_at("ckptsim/three"), "(not refused)");
  EXPECT_THROW((void)clean({target_.path(), "three", ""}), UnsuitableTarget);
  EXPECT_EQ(test::read_file(elsewhere / "checkpoint_01/mp_rank_00_model_states.pt"), "precious");
}

TEST_F(Clean, RefusesWhileARunHoldsTheTarget) {
  const Descriptor stranger(open((target_ / "ckptsim/.lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(stranger.get(), LOCK_EX | LOCK_NB), 0);
  const std::set<fs::path> before = everything();
  EXPECT_THAT(refusal_at(""), HasSubstr("another run"));
  EXPECT_THAT(refusal_at("ckptsim/one"), HasSubstr("another run"));
  EXPECT_THROW((void)survey_cleaning(cleaning_scope(target_.path())), UnsuitableTarget);
  EXPECT_EQ(everything(), before);
}

TEST_F(Clean, NamesTheRunsThereAreWhereOneIsAskedForThatIsNot) {
  for (const auto& ask : {clean, survey_cleaning}) {
    try {
      (void)ask({target_.path(), "three", ""});
      ADD_FAILURE() << "not refused";
    } catch (const UnsuitableTarget& refusal) {
      EXPECT_THAT(refusal.what(), HasSubstr("no run named three; it holds one, two"));
    }
  }
}

// The state between two steps of removing the marked folder itself.
TEST_F(Clean, FinishesWhatAKillLeft) {
  (void)clean_at("ckptsim/one");
  (void)clean_at("ckptsim/two");
  fs::remove(target_ / "ckptsim/.ckptsim-directory");
  EXPECT_EQ(clean_at("").marked_directory, target_ / "ckptsim");
  EXPECT_EQ(everything(), (std::set<fs::path>{"lost+found", "notes.txt"}));
}

TEST_F(Clean, LeavesAnEmptyFolderThatNothingSaysARunMade) {
  (void)clean_at("");
  fs::create_directory(target_ / "ckptsim");
  EXPECT_THAT(refusal_at(""),
              testing::AllOf(HasSubstr((target_ / "ckptsim").string()), HasSubstr("is empty")));
  EXPECT_NE(refusal_at("ckptsim"), "(not refused)");
  const CleaningScope scope{target_.path(), "", ""};  // as if it had been emptied since the scope was found
  EXPECT_THROW((void)survey_cleaning(scope), UnsuitableTarget);
  EXPECT_THROW((void)clean(scope), UnsuitableTarget);
  EXPECT_EQ(everything(), (std::set<fs::path>{"ckptsim", "lost+found", "notes.txt"}));
}

TEST_F(Clean, LeavesAnUnmarkedFolderWithSomebodyElsesLock) {
  (void)clean_at("");
  fs::create_directory(target_ / "ckptsim");
  write_text(target_ / "ckptsim/.lock", "my own lock\n");
  const CleaningScope scope{target_.path(), "", ""};
  EXPECT_NE(refusal_at(""), "(not refused)");
  EXPECT_THROW((void)clean(scope), UnsuitableTarget);
  EXPECT_EQ(test::read_file(target_ / "ckptsim/.lock"), "my own lock\n");
}

// A kill leaves one between the making of a run's folder and of its first checkpoint's.
TEST_F(Clean, TakesAnEmptyFolderInTheMarkedOneForARuns) {
  fs::create_directory(target_ / "ckptsim/empty");
  EXPECT_EQ(clean_at("ckptsim/empty").runs.at(0).contents.checkpoints, 0U);
  EXPECT_FALSE(fs::exists(target_ / "ckptsim/empty"));
}

TEST_F(Clean, LeavesTheOtherNameOfAFile) {
  fs::create_hard_link(target_ / "ckptsim/one/checkpoint_01/mp_rank_00_model_states.pt", target_ / "kept");
  (void)clean_at("");
  EXPECT_EQ(test::read_file(target_ / "kept"), "12345");
}

}  // namespace
}  // namespace ckptsim::storage
