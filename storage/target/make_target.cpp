#include "storage/target/make_target.h"

#include <fmt/format.h>

#include "storage/errors.h"
#include "storage/target/check.h"
#include "storage/target/io_uring_target.h"
#include "storage/target/null_target.h"
#include "storage/target/posix_target.h"

namespace ckptsim::storage {
namespace {

// What the drive asks for is known only once it was probed, long after the configuration was read.
void refuse_unaligned_blocks(const TargetOptions& options) {
  if (options.block_bytes % options.io_alignment == 0) return;
  throw UnsuitableTarget(fmt::format(
      "direct I/O on this target needs multiples of {} bytes, which storage.block_bytes = {} is not",
      options.io_alignment, options.block_bytes));
}

}  // namespace

std::unique_ptr<Target> make_target(const TargetOptions& options, const Clock& clock) {
  switch (options.backend) {
    case Backend::kIoUring:
      refuse_unaligned_blocks(options);
      return make_io_uring_target(options, clock);
    case Backend::kDirect:
      refuse_unaligned_blocks(options);
      return make_posix_target(options, clock, Caching::kDirect);
    case Backend::kBuffered:
      return make_posix_target(options, clock, Caching::kPageCache);
    case Backend::kNull:
      return make_null_target(options, clock);
  }
  check_failed("a backend is one of the four");
}

}  // namespace ckptsim::storage
