#include "simulator/run/target_options.h"

#include <string>

namespace ckptsim::simulator {
namespace {

storage::RegisteredBuffers registered_buffers(const std::string& name) {
  if (name == "on") return storage::RegisteredBuffers::kOn;
  return name == "off" ? storage::RegisteredBuffers::kOff : storage::RegisteredBuffers::kAuto;
}

}  // namespace

storage::HugePages huge_pages_of(const RunConfig& config) {
  if (config.storage.huge_pages == "on") return storage::HugePages::kOn;
  return config.storage.huge_pages == "off" ? storage::HugePages::kOff : storage::HugePages::kAuto;
}

storage::TargetOptions target_options(const RunConfig& config, storage::Backend backend) {
  return {.backend = backend,
          .block_bytes = config.storage.block_bytes,
          .queue_depth = config.storage.queue_depth,
          .io_alignment = 1,
          .registered_buffers = registered_buffers(config.storage.registered_buffers),
          .huge_pages = huge_pages_of(config),
          .registered_files = config.storage.registered_files,
          .submission_polling = config.storage.sqpoll,
          .completion_polling = config.storage.iopoll};
}

}  // namespace ckptsim::simulator
