#include "storage/drive/polling_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "storage/errors.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A sysfs in which the scratch folder's device has the queue of a drive, or is a partition of one.
class PollingProbe : public testing::Test {
 protected:
  void SetUp() override {
    struct stat status {};
    ASSERT_EQ(stat(target_.path().c_str(), &status), 0);
    device_ = std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
  }

  void make_device(const std::string& io_poll, bool partition) const {
    const fs::path drive = sysfs_ / "devices/nvme0n1";
    const fs::path device = partition ? drive / "nvme0n1p1" : drive;
    fs::create_directories(drive / "queue");
    fs::create_directories(device);
    fs::create_directories(fs::path(sysfs_ / "dev/block"));
    std::ofstream(drive / "queue/io_poll") << io_poll << "\n";
    fs::create_directory_symlink(device, sysfs_ / ("dev/block/" + device_));
  }

  [[nodiscard]] std::string refusal() const {
    try {
      prove_polling(target_.path(), sysfs_.path());
    } catch (const UnsuitableTarget& error) {
      return error.what();
    }
    return "";
  }

  test::TemporaryFolder target_;
  test::TemporaryFolder sysfs_;
  std::string device_;
};

TEST_F(PollingProbe, AcceptsADriveWithPolledQueues) {
  make_device("1", false);
  EXPECT_EQ(refusal(), "");
}

TEST_F(PollingProbe, AcceptsAPartitionOfSuchADrive) {
  make_device("1", true);
  EXPECT_EQ(refusal(), "");
}

TEST_F(PollingProbe, RefusesADriveWithoutAndSaysHowItGetsSome) {
  make_device("0", true);
  EXPECT_THAT(refusal(), HasSubstr("nvme.poll_queues"));
  EXPECT_THAT(refusal(), HasSubstr("storage.iopoll"));
}

TEST_F(PollingProbe, RefusesWhatIsNoBlockDevice) {
  EXPECT_THAT(refusal(), HasSubstr("no block device"));
}

}  // namespace
}  // namespace ckptsim::storage
