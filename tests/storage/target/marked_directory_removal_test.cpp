#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "storage/descriptor.h"
#include "storage/errors.h"
#include "storage/target/marked_directory.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

namespace fs = std::filesystem;
using test::write_text;

constexpr const char* kFirst = "layer_000-model_00-model_states.pt";
constexpr const char* kSecond = "mp_rank_00_model_states.pt";
constexpr const char* kThird = "zero_pp_rank_0_mp_rank_00_optim_states.pt";
constexpr const char* kForeign =
    "zero_pp_rank_1_mp_rank_00_optim_states.pt";  // a name of ours, not used above

class MarkedDirectoryRemoval : public testing::Test {
 protected:
  // A checkpoint of three files, a manifest and a temporary: five files.
  fs::path make_checkpoint(int checkpoint) {
    directory_.make_checkpoint_folder("run", checkpoint);
    fs::path folder = MarkedDirectory::checkpoint_path(target_.path(), "run", checkpoint);
    write_text(folder / kFirst, std::string(10000, 'a'));
    write_text(folder / kSecond, std::string(5000, 'b'));
    write_text(folder / kThird, "c");
    directory_.publish_manifest("run", checkpoint, "manifest.json", "{}");
    write_text(folder / "manifest-host.json.tmp", "{");
    return folder;
  }

  void expect_refusal_that_removes_nothing(const fs::path& foreign) {
    const auto count = [this] {
      return std::distance(fs::recursive_directory_iterator(run_), fs::recursive_directory_iterator());
    };
    const auto before = count();
    try {
      directory_.remove_run("run");
      ADD_FAILURE() << "removed a run that holds " << foreign;
    } catch (const UnsuitableTarget& refusal) {
      EXPECT_THAT(refusal.what(), testing::HasSubstr(foreign.string()));
    }
    EXPECT_EQ(count(), before);
  }

  test::TemporaryFolder target_;
  MarkedDirectory directory_{target_.path()};
  fs::path run_ = target_ / "ckptsim/run";
};

TEST_F(MarkedDirectoryRemoval, RemovesARunAndCountsItsFiles) {
  make_checkpoint(1);
  make_checkpoint(2);
  make_checkpoint(100);
  EXPECT_EQ(directory_.remove_run("run"), 15U);
  EXPECT_FALSE(fs::exists(run_));
  EXPECT_TRUE(fs::exists(target_ / "ckptsim/.ckptsim-directory"));
  EXPECT_EQ(directory_.remove_run("run"), 0U);
}

TEST_F(MarkedDirectoryRemoval, CanBeLeftBeforeAnyFileAndWhatIsLeftVouchesForNothing) {
  const fs::path folder = make_checkpoint(1);
  int asked = 0;
  const auto leave_at_second = [&asked] {
    if (++asked == 2) throw std::runtime_error("leave");
  };
  EXPECT_THROW(directory_.remove_run("run", leave_at_second), std::runtime_error);
  EXPECT_FALSE(fs::exists(folder / "manifest.json"));
  const Contents left = directory_.run_contents("run");
  EXPECT_EQ(left.files, 2U);
  EXPECT_EQ(directory_.remove_run("run"), 2U);
  EXPECT_FALSE(fs::exists(run_));
}

TEST_F(MarkedDirectoryRemoval, LeavesOtherRunsAlone) {
  make_checkpoint(1);
  directory_.make_checkpoint_folder("other", 1);
  directory_.remove_run("run");
  EXPECT_TRUE(fs::is_directory(target_ / "ckptsim/other/checkpoint_01"));
}

TEST_F(MarkedDirectoryRemoval, RemovesOneCheckpointAndNothingWhereThereIsNone) {
  make_checkpoint(1);
  const fs::path second = make_checkpoint(2);
  directory_.remove_checkpoint("run", 1);
  EXPECT_FALSE(fs::exists(run_ / "checkpoint_01"));
  EXPECT_TRUE(fs::exists(second / "manifest.json"));
  EXPECT_NO_THROW(directory_.remove_checkpoint("run", 1));
  EXPECT_NO_THROW(directory_.remove_checkpoint("never", 1));
}

TEST_F(MarkedDirectoryRemoval, RemovesManifestsOnly) {
  const fs::path folder = make_checkpoint(1);
  directory_.remove_manifests("run", 1);
  EXPECT_FALSE(fs::exists(folder / "manifest.json"));
  EXPECT_FALSE(fs::exists(folder / "manifest-host.json.tmp"));
  EXPECT_TRUE(fs::exists(folder / kFirst));
  EXPECT_TRUE(fs::exists(folder / kThird));
  EXPECT_NO_THROW(directory_.remove_manifests("run", 1));
  EXPECT_NO_THROW(directory_.remove_manifests("run", 9));
}

TEST_F(MarkedDirectoryRemoval, CountsTheBytesThatRemovingWouldFree) {
  EXPECT_EQ(directory_.run_contents("run").allocated_bytes, 0U);
  const fs::path folder = make_checkpoint(1);
  std::uint64_t allocated = 0;
  for (const fs::path& path : {folder, folder / kFirst, folder / kSecond, folder / kThird,
                               folder / "manifest.json", folder / "manifest-host.json.tmp"}) {
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    allocated += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  EXPECT_GE(allocated, 15001U);
  EXPECT_EQ(directory_.run_contents("run").allocated_bytes, allocated);
}

TEST_F(MarkedDirectoryRemoval, RefusesEverythingThatItDoesNotRecognise) {
  const fs::path folder = make_checkpoint(1);
  make_checkpoint(2);
  for (const char* foreign :
       {"checkpoint_02/notes.txt", "checkpoint_02/manifest.yaml", "checkpoint_02/x.json",
        "checkpoint_02/my_thesis_model.pt", "checkpoint_02/mp_rank_00_model_states.pt.bak",
        "checkpoint_02/mine/", "checkpoint_02/pt", "checkpoint_02/manifest_of_cargo.json", "checkpoint_",
        "checkpoint_3", "checkpoint_04x", "notes.txt", "other/"}) {
    SCOPED_TRACE(foreign);
    const fs::path path = run_ / foreign;
    if (path.has_filename()) {
      write_text(path, "foreign");
    } else {
      fs::create_directory(path);
    }
    const fs::path plain = path.has_filename() ? path : path.parent_path();
    expect_refusal_that_removes_nothing(plain);
    fs::remove(plain);
  }
  EXPECT_EQ(directory_.remove_run("run"), 10U);
}

TEST_F(MarkedDirectoryRemoval, RefusesWhatHasTheRightNameAndTheWrongKind) {
  const fs::path folder = make_checkpoint(1);
  write_text(target_ / "precious.pt", "precious");
  fs::create_symlink(target_ / "precious.pt", folder / kForeign);
  expect_refusal_that_removes_nothing(folder / kForeign);
  fs::remove(folder / kForeign);

  ASSERT_EQ(mkfifo((folder / kForeign).c_str(), 0600), 0);
  expect_refusal_that_removes_nothing(folder / kForeign);
  fs::remove(folder / kForeign);

  fs::create_directory_symlink(target_.path(), folder / "linked-part");
  expect_refusal_that_removes_nothing(folder / "linked-part");
  fs::remove(folder / "linked-part");

  fs::create_directory(folder / kForeign);
  expect_refusal_that_removes_nothing(folder / kForeign);
  write_text(folder / kForeign / "w.pt", "years of work");
  expect_refusal_that_removes_nothing(folder / kForeign);
  fs::remove_all(folder / kForeign);

  write_text(run_ / "checkpoint_05", "a file");
  expect_refusal_that_removes_nothing(run_ / "checkpoint_05");
  EXPECT_TRUE(fs::exists(target_ / "precious.pt"));
}

TEST_F(MarkedDirectoryRemoval, ACheckpointThatIsToBeRewrittenIsRefusedBeforeItsManifestGoes) {
  const fs::path folder = make_checkpoint(1);
  write_text(target_ / "precious", "precious");
  const auto refused = [&](const char* name) {
    try {
      directory_.remove_manifests("run", 1);
    } catch (const UnsuitableTarget& refusal) {
      EXPECT_THAT(refusal.what(), testing::HasSubstr((folder / name).string()));
      EXPECT_TRUE(fs::exists(folder / "manifest.json"));
      fs::remove(folder / name);
      return true;
    }
    return false;
  };
  fs::create_hard_link(target_ / "precious", folder / kForeign);
  EXPECT_TRUE(refused(kForeign));
  write_text(folder / "my_thesis_model.pt", "years of work");
  EXPECT_TRUE(refused("my_thesis_model.pt"));
  fs::create_symlink(target_ / "precious", folder / kForeign);
  EXPECT_TRUE(refused(kForeign));
  fs::create_hard_link(folder / kFirst,
                       target_ / "kept");  // somebody keeps a checkpoint by linking its files
  EXPECT_TRUE(refused(kFirst));
  EXPECT_FALSE(refused(kSecond));
}

// Unlinking takes one of two names, and frees nothing.
TEST_F(MarkedDirectoryRemoval, AFileWithAnotherNameLosesThisOneAloneAndCountsAsNoRoom) {
  const fs::path folder = make_checkpoint(1);
  const std::uint64_t before = directory_.run_contents("run").allocated_bytes;
  fs::create_hard_link(folder / kFirst, target_ / "kept");
  EXPECT_LE(directory_.run_contents("run").allocated_bytes + 10000, before);
  EXPECT_EQ(directory_.remove_run("run"), 5U);
  EXPECT_EQ(test::read_file(target_ / "kept"), std::string(10000, 'a'));
}

TEST_F(MarkedDirectoryRemoval, OneCheckpointIsRefusedAsAWholeToo) {
  const fs::path folder = make_checkpoint(1);
  write_text(folder / "notes.txt", "foreign");
  EXPECT_THROW(directory_.remove_checkpoint("run", 1), UnsuitableTarget);
  EXPECT_TRUE(fs::exists(folder / "manifest.json"));
  EXPECT_TRUE(fs::exists(folder / kFirst));
}

// A file that the system will not remove for as long as this lives.
class Immutable {
 public:
  explicit Immutable(const fs::path& file) : file_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    set(FS_IMMUTABLE_FL);
  }
  ~Immutable() {
    if (ok_) set(0);
  }
  Immutable(const Immutable&) = delete;
  Immutable& operator=(const Immutable&) = delete;
  [[nodiscard]] bool ok() const noexcept { return ok_; }

 private:
  void set(int flag) {
    int flags = 0;
    ok_ = ioctl(file_.get(), FS_IOC_GETFLAGS, &flags) == 0;
    flags = (flags & ~FS_IMMUTABLE_FL) | flag;
    ok_ = ok_ && ioctl(file_.get(), FS_IOC_SETFLAGS, &flags) == 0;
  }

  Descriptor file_;
  bool ok_ = false;
};

// Removal that stops half-way, as a kill would stop it, must not leave a manifest that vouches for missing
// files.
TEST_F(MarkedDirectoryRemoval, TheManifestGoesBeforeAnyFile) {
  const fs::path folder = make_checkpoint(1);
  const Immutable first(folder / kFirst);
  if (!first.ok()) GTEST_SKIP() << "files cannot be made immutable here";
  EXPECT_THROW((void)directory_.remove_run("run"), std::system_error);
  EXPECT_FALSE(fs::exists(folder / "manifest.json"));
  EXPECT_TRUE(fs::exists(folder / kFirst));

  directory_.publish_manifest("run", 1, "manifest.json", "{}");
  EXPECT_THROW(directory_.remove_checkpoint("run", 1), std::system_error);
  EXPECT_FALSE(fs::exists(folder / "manifest.json"));
}

}  // namespace
}  // namespace ckptsim::storage
