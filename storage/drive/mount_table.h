#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ckptsim::storage {

// One line of /proc/PID/mountinfo, proc_pid_mountinfo(5).
struct Mount {
  unsigned device_major = 0;
  unsigned device_minor = 0;
  std::string mount_point;
  std::string options;  // the mount's own, then what the superblock adds
  std::string type;
  std::string source;
};

// Lines that are not of the documented form are passed over.
[[nodiscard]] std::vector<Mount> parse_mount_table(std::string_view mountinfo);

// The mount that the absolute, link-free path lies on: the longest mount point that contains it among those
// of its device, the latest of several (it covers the others). File systems whose files carry a device number
// of their own (btrfs subvolumes) are found by mount point alone. nullptr when there is none.
[[nodiscard]] const Mount* mount_of(const std::vector<Mount>& mounts, unsigned device_major,
                                    unsigned device_minor, std::string_view path);

}  // namespace ckptsim::storage
