#include "storage/drive/polling_probe.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "storage/errors.h"

namespace ckptsim::storage {

void prove_polling(const std::filesystem::path& folder, const std::filesystem::path& sysfs) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) {
    throw std::system_error(errno, std::system_category(), folder.string());
  }
  const std::string device = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
  const std::filesystem::path queue = sysfs / "dev/block" / device / "queue/io_poll";
  // A partition has no queue of its own: its folder lies in that of its drive.
  std::ifstream file(queue);
  if (!file) file.open(sysfs / "dev/block" / device / "../queue/io_poll");
  int polled = 0;
  if (!(file >> polled)) {
    throw UnsuitableTarget(
        fmt::format("storage.iopoll is true and {} is on no block device of which {} could say that it polls "
                    "(device {}); set storage.iopoll to false",
                    folder.string(), sysfs.string(), device));
  }
  if (polled != 0) return;
  throw UnsuitableTarget(fmt::format(
      "storage.iopoll is true and the device under {} has no polled queues (queue/io_poll of "
      "device {} is 0); give the driver some (nvme.poll_queues=4 on the kernel's command line), or "
      "set storage.iopoll to false",
      folder.string(), device));
}

}  // namespace ckptsim::storage
