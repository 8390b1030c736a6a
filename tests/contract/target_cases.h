// The backends of the contract suites, and a fixture with a target of each.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

#include "storage/target/make_target.h"
#include "tests/contract/target_driver.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {

inline constexpr std::uint64_t kBlock = 65536;
inline constexpr std::uint64_t kDepth = 4;

struct Case {
  const char* name;
  const char* backend;
  Backend kind;
  RegisteredBuffers registered;
  bool registered_files = false;
  bool submission_polling = false;
};

// NOLINTNEXTLINE(readability-identifier-naming): gtest's name
inline void PrintTo(const Case& value, std::ostream* out) {
  *out << value.name;
}

inline constexpr Case kIoUring{"IoUring", "io_uring", Backend::kIoUring, RegisteredBuffers::kAuto};
inline constexpr Case kIoUringUnregistered{"IoUringUnregistered", "io_uring", Backend::kIoUring,
                                           RegisteredBuffers::kOff};
inline constexpr Case kIoUringRegisteredFiles{"IoUringRegisteredFiles", "io_uring", Backend::kIoUring,
                                              RegisteredBuffers::kAuto, true};
inline constexpr Case kIoUringSubmissionPolling{"IoUringSubmissionPolling", "io_uring", Backend::kIoUring,
                                                RegisteredBuffers::kOff,    true,       true};
inline constexpr Case kDirect{"Direct", "direct", Backend::kDirect, RegisteredBuffers::kAuto};
inline constexpr Case kBuffered{"Buffered", "buffered", Backend::kBuffered, RegisteredBuffers::kAuto};
inline constexpr Case kNull{"Null", "null", Backend::kNull, RegisteredBuffers::kAuto};

// Empty where this machine can run the backend. Direct I/O is never excused: tests have to run where there is
// some.
inline std::string why_not(const Case& value) {
  return value.kind == Backend::kIoUring ? io_uring_refusal() : "";
}

class TargetTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (const std::string reason = why_not(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
    target_ = make();
  }
  static std::unique_ptr<Target> make(std::uint64_t depth = kDepth) {
    static const SteadyClock clock;
    return make_target({.backend = GetParam().kind,
                        .block_bytes = kBlock,
                        .queue_depth = depth,
                        .io_alignment = 4096,
                        .registered_buffers = GetParam().registered,
                        .registered_files = GetParam().registered_files,
                        .submission_polling = GetParam().submission_polling},
                       clock);
  }
  // Writes are in flight after submit() on io_uring alone; the others carry out one at a time.
  [[nodiscard]] static bool writes_in_flight() { return GetParam().kind == Backend::kIoUring; }
  [[nodiscard]] static std::uint64_t depth() { return writes_in_flight() ? kDepth : 1; }
  [[nodiscard]] static std::uint64_t buffers() { return writes_in_flight() ? kDepth + 2 : 2; }

  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }

  [[nodiscard]] test::TargetDriver driver() const { return test::TargetDriver(*target_); }

  test::TemporaryFolder folder_;
  std::unique_ptr<Target> target_;
};

inline std::string case_name(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

inline auto all() {
  return testing::Values(kIoUring, kIoUringUnregistered, kIoUringRegisteredFiles, kIoUringSubmissionPolling,
                         kDirect, kBuffered, kNull);
}

inline auto storing() {
  return testing::Values(kIoUring, kIoUringUnregistered, kIoUringRegisteredFiles, kIoUringSubmissionPolling,
                         kDirect, kBuffered);
}

inline auto direct() {
  return testing::Values(kIoUring, kIoUringUnregistered, kIoUringRegisteredFiles, kIoUringSubmissionPolling,
                         kDirect);
}

}  // namespace ckptsim::storage
