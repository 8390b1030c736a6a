#pragma once

#include <cstdint>
#include <memory>

#include "storage/target/target.h"

namespace ckptsim::storage {

enum class Backend { kIoUring, kDirect, kBuffered, kNull };

enum class RegisteredBuffers { kAuto, kOn, kOff };

struct TargetOptions {
  Backend backend = Backend::kIoUring;
  std::uint64_t block_bytes = 4194304;
  std::uint64_t queue_depth = 4;
  std::uint64_t io_alignment = 4096;  // what direct_io_probe found; ignored by buffered and null
  RegisteredBuffers registered_buffers = RegisteredBuffers::kAuto;
  HugePages huge_pages = HugePages::kAuto;
  // Of io_uring alone:
  bool registered_files = false;
  bool submission_polling = false;  // IORING_SETUP_SQPOLL: a kernel thread takes requests up
  bool completion_polling =
      false;  // IORING_SETUP_IOPOLL: for devices with polled queues, see prove_polling()
};

// A target for one rank. The clock must outlive it. Throws UnsuitableTarget when io_uring or registered
// buffers were asked for and cannot be had (the message names the limit or the kernel's answer, and what
// works instead).
[[nodiscard]] std::unique_ptr<Target> make_target(const TargetOptions& options, const Clock& clock);

// Empty when this kernel and container let the process use io_uring, otherwise why not, in the system's
// words.
[[nodiscard]] std::string io_uring_refusal();

}  // namespace ckptsim::storage
