#pragma once

#include <filesystem>

namespace ckptsim::storage {

// Throws UnsuitableTarget, naming storage.iopoll, unless the block device that `folder` lies on completes
// requests by polling (queue/io_poll of the device is 1; an NVMe drive's is with the module parameter
// nvme.poll_queues). `sysfs` is /sys but for tests.
void prove_polling(const std::filesystem::path& folder, const std::filesystem::path& sysfs = "/sys");

}  // namespace ckptsim::storage
