#include "storage/drive/mount_table.h"

#include <gtest/gtest.h>

namespace ckptsim::storage {
namespace {

constexpr const char* kTable =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
    "30 22 259:1 / /mnt/nvme rw,noatime - xfs /dev/nvme0n1p1 rw,noatime,attr2\n"
    "31 30 259:2 / /mnt/nvme/with\\040space\\134and\\011tab rw master:4 propagate_from:2 - ext4 /dev/nvme1n1 "
    "rw\n"
    "32 22 0:40 /home /data rw - btrfs /dev/sdb rw,subvol=/home\n"
    "33 22 0:50 / /mnt/nvme2 rw - tmpfs none rw\n"
    "a line that is no mount\n"
    "34 22 259:1 / /mnt/bind ro - xfs /dev/nvme0n1p1 rw\n";

class MountTable : public testing::Test {
 protected:
  [[nodiscard]] std::string mount_point(unsigned major, unsigned minor, std::string_view path) const {
    const Mount* const mount = mount_of(mounts_, major, minor, path);
    return mount == nullptr ? "(none)" : mount->mount_point;
  }
  std::vector<Mount> mounts_ = parse_mount_table(kTable);
};

TEST_F(MountTable, ReadsEveryMountAndPassesOverTheRest) {
  ASSERT_EQ(mounts_.size(), 6U);
  EXPECT_EQ(mounts_[0].type, "ext4");
  EXPECT_EQ(mounts_[0].source, "/dev/vda");
  EXPECT_EQ(mounts_[1].device_major, 259U);
  EXPECT_EQ(mounts_[1].device_minor, 1U);
}

TEST_F(MountTable, JoinsTheOptionsOfMountAndSuperblockNamingEachOnce) {
  EXPECT_EQ(mounts_[0].options, "rw,relatime,discard");
  EXPECT_EQ(mounts_[1].options, "rw,noatime,attr2");
  EXPECT_EQ(mounts_[5].options, "ro,rw");  // a read-only view of a writable file system
}

TEST_F(MountTable, UnderstandsEscapedNamesAndOptionalFields) {
  EXPECT_EQ(mounts_[2].mount_point, "/mnt/nvme/with space\\and\ttab");
  EXPECT_EQ(mounts_[2].type, "ext4");
}

TEST_F(MountTable, TakesTheLongestMountPointThatHoldsThePath) {
  EXPECT_EQ(mount_point(254, 0, "/home/me"), "/");
  EXPECT_EQ(mount_point(254, 0, "/"), "/");
  EXPECT_EQ(mount_point(259, 1, "/mnt/nvme/a/b"), "/mnt/nvme");
  EXPECT_EQ(mount_point(259, 1, "/mnt/nvme"), "/mnt/nvme");
  EXPECT_EQ(mount_point(259, 2, "/mnt/nvme/with space\\and\ttab/x"), "/mnt/nvme/with space\\and\ttab");
  EXPECT_EQ(mount_point(259, 1, "/mnt/bind/x"), "/mnt/bind");
}

TEST_F(MountTable, ALongerNameIsNotAFolderBelow) {
  EXPECT_EQ(mount_point(0, 50, "/mnt/nvme2/x"), "/mnt/nvme2");
  EXPECT_EQ(mount_point(254, 0, "/mnt/nvme20"), "/");
}

TEST_F(MountTable, AMountThatHidesAnotherIsTheOne) {
  const auto mounts = parse_mount_table(
      "1 0 8:1 / /m rw - ext4 /dev/sda1 rw\n"
      "2 1 8:2 / /m rw - xfs /dev/sda2 rw\n");
  EXPECT_EQ(mount_of(mounts, 8, 2, "/m/x")->source, "/dev/sda2");
}

TEST_F(MountTable, AFileSystemWithDeviceNumbersOfItsOwnIsFoundByItsMountPoint) {
  EXPECT_EQ(mount_point(0, 99, "/data/subvolume/x"), "/data");
}

TEST_F(MountTable, SaysWhenThereIsNone) {
  EXPECT_EQ(mount_of({}, 1, 1, "/x"), nullptr);
}

}  // namespace
}  // namespace ckptsim::storage
