#include "storage/target/posix_target.h"

#include <unistd.h>

#include <cerrno>

#include "storage/target/short_transfer.h"

namespace ckptsim::storage {
namespace {

class PosixTarget final : public Target {
 public:
  PosixTarget(const TargetOptions& options, const Clock& clock, Caching caching)
      : Target(clock, options.block_bytes, options.queue_depth,
               caching == Caching::kDirect ? options.io_alignment : 1, options.huge_pages,
               Writing::kInsideSubmit),
        caching_(caching),
        files_(caching) {}

  [[nodiscard]] TargetFacts facts() const override {
    const bool direct = caching_ == Caching::kDirect;
    return {direct ? "direct" : "buffered", direct, false, ""};
  }

 private:
  bool do_submit(Request& request, Completion& completion) override {
    if (request.kind == Request::Kind::kWrite) {
      completion.error = write(request);
    } else if (request.kind == Request::Kind::kRead) {
      completion.error = read(request, completion.length);
    } else {
      completion.error = files_.carry_out(request);
    }
    return true;
  }

  bool do_reap(bool /*block*/, Completion& /*completion*/) override { return false; }

  [[nodiscard]] std::error_code write(const Request& request) const {
    const int descriptor = files_.descriptor(request.file);
    const std::span<std::byte> bytes = request.buffer.bytes();
    for (std::uint64_t done = 0; done < request.length;) {
      const ssize_t count = pwrite(descriptor, bytes.data() + done, request.length - done,
                                   static_cast<off_t>(request.offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return {errno, std::system_category()};
      if (count == 0) return {EIO, std::system_category()};
      done = continue_at(done, static_cast<std::uint64_t>(count), io_alignment());
    }
    return {};
  }

  // `length`: how many bytes came.
  [[nodiscard]] std::error_code read(const Request& request, std::uint64_t& length) const {
    const int descriptor = files_.descriptor(request.file);
    const std::span<std::byte> bytes = request.buffer.bytes();
    for (length = 0; length < request.length;) {
      const ssize_t count = pread(descriptor, bytes.data() + length, request.length - length,
                                  static_cast<off_t>(request.offset + length));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return {errno, std::system_category()};
      length += static_cast<std::uint64_t>(count);
      if (read_met_the_end(static_cast<std::uint64_t>(count), io_alignment())) break;
    }
    return {};
  }

  Caching caching_;
  OpenFiles files_;
};

}  // namespace

std::unique_ptr<Target> make_posix_target(const TargetOptions& options, const Clock& clock, Caching caching) {
  return std::make_unique<PosixTarget>(options, clock, caching);
}

}  // namespace ckptsim::storage
