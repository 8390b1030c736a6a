#include "simulator/tune/own_folders.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>
#include <string>

#include "storage/descriptor.h"
#include "storage/errors.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::simulator {
namespace {

namespace fs = std::filesystem;
using storage::MarkedDirectory;
using test::TemporaryFolder;
using test::write_text;

bool stranger_gets_lock(const TemporaryFolder& target) {
  const storage::Descriptor lock(open((target / "ckptsim/.lock").c_str(), O_RDWR | O_CLOEXEC));
  return lock.valid() && flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

void write_a_file_of(const char* run, const TemporaryFolder& target) {
  MarkedDirectory(target.path()).make_checkpoint_folder(run, 1);
  write_text(MarkedDirectory::checkpoint_path(target.path(), run, 1) / "mp_rank_00_model_states.pt",
             std::string(10000, 'a'));
}

TEST(OwnFolders, HoldTheLocksOfAllTargetsUntilTheyGo) {
  const TemporaryFolder first;
  const TemporaryFolder second;
  {
    OwnFolders folders({first.path().string(), second.path().string()});
    folders.lock_unused();
    write_a_file_of(kTuneRunName, first);
    EXPECT_FALSE(stranger_gets_lock(first));
    EXPECT_FALSE(stranger_gets_lock(second));
    folders.remove();
    EXPECT_FALSE(fs::exists(first / "ckptsim/tune"));
    EXPECT_FALSE(stranger_gets_lock(first));
    EXPECT_FALSE(stranger_gets_lock(second));
  }
  EXPECT_TRUE(stranger_gets_lock(first));
  EXPECT_TRUE(stranger_gets_lock(second));
}

TEST(OwnFolders, AreRefusedWhereARunOfThatNameIsAndTouchNothing) {
  const TemporaryFolder first;
  const TemporaryFolder second;
  write_a_file_of(kTuneRunName, second);
  {
    OwnFolders folders({first.path().string(), second.path().string()});
    EXPECT_THROW(folders.lock_unused(), storage::UnsuitableTarget);
  }
  EXPECT_TRUE(fs::exists(second / "ckptsim/tune/checkpoint_01/mp_rank_00_model_states.pt"));
  EXPECT_TRUE(stranger_gets_lock(first));
}

TEST(OwnFolders, AreRemovedFromTheOtherTargetsWhereOneFailsAndTheFirstFailureIsTold) {
  const TemporaryFolder first;
  const TemporaryFolder second;
  const TemporaryFolder third;
  OwnFolders folders({first.path().string(), second.path().string(), third.path().string()});
  folders.lock_unused();
  for (const TemporaryFolder* target : {&first, &second, &third})
    write_a_file_of(kTuneRunName, *target);
  write_text(first / "ckptsim/tune/foreign", "not ours");
  write_text(second / "ckptsim/tune/foreign", "not ours");
  std::string failure;
  try {
    folders.remove();
  } catch (const storage::UnsuitableTarget& refusal) {
    failure = refusal.what();
  }
  EXPECT_THAT(failure, testing::HasSubstr(first.path().string()));
  EXPECT_TRUE(fs::exists(second / "ckptsim/tune/foreign"));
  EXPECT_FALSE(fs::exists(third / "ckptsim/tune"));
}

}  // namespace
}  // namespace ckptsim::simulator
