#pragma once

#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "storage/descriptor.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::test {

// A file system mounted for one test, unmounted at its end. Where that is not possible (no root, no loop
// device), ok() is false and why_not() says so; the test then skips itself with that reason.
class Mounted {
 public:
  // A file system without a device: tmpfs, ramfs.
  explicit Mounted(const char* type) { mount_at("none", type, ""); }

  // An ext4 of that many bytes on a loop device.
  Mounted(std::uint64_t size_bytes, const char* mount_options) {
    const std::filesystem::path image = folder_ / "image";
    write_text(image, "");
    std::filesystem::resize_file(image, size_bytes);
    const std::string command = "mkfs.ext4 -q -F '" + image.string() + "' >&2";
    if (geteuid() == 0 && std::system(command.c_str()) != 0) {  // NOLINT(concurrency-mt-unsafe)
      why_not_ = "mkfs.ext4 failed";
      return;
    }
    attach(image);
    if (device_.valid()) mount_at(device_path_.c_str(), "ext4", mount_options);
  }

  ~Mounted() {
    if (mounted_) umount2(path().c_str(), MNT_DETACH);
    // The device frees itself once the last use of it is gone (LO_FLAGS_AUTOCLEAR).
  }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;

  [[nodiscard]] bool ok() const noexcept { return mounted_; }
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "mnt"; }

 private:
  void fail(const std::string& what) { why_not_ = what + ": " + std::system_category().message(errno); }

  void attach(const std::filesystem::path& image) {
    const storage::Descriptor control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    if (!control.valid()) return fail("/dev/loop-control");
    const storage::Descriptor backing(open(image.c_str(), O_RDWR | O_CLOEXEC));
    // Another process may take the free device first, so a few are tried.
    for (int attempt = 0; attempt < 10; ++attempt) {
      const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
      if (number < 0) return fail("LOOP_CTL_GET_FREE");
      device_path_ = "/dev/loop" + std::to_string(number);
      storage::Descriptor device(open(device_path_.c_str(), O_RDWR | O_CLOEXEC));
      if (!device.valid()) return fail(device_path_);
      loop_config config{};
      config.fd = static_cast<__u32>(backing.get());
      config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
      if (ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) {
        device_ = std::move(device);
        return;
      }
    }
    fail("LOOP_CONFIGURE");
  }

  void mount_at(const char* source, const char* type, const char* options) {
    if (geteuid() != 0) {
      why_not_ = "mounting a file system needs root";
      return;
    }
    // In a mount namespace of this process: the mount ends with it even when the test crashes.
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      return fail("a mount namespace");
    }
    std::filesystem::create_directory(path());
    mounted_ = mount(source, path().c_str(), type, 0, options) == 0;
    if (!mounted_) fail(std::string("mounting ") + type);
  }

  TemporaryFolder folder_;
  std::string device_path_;
  storage::Descriptor device_;
  bool mounted_ = false;
  std::string why_not_;
};

}  // namespace ckptsim::test
