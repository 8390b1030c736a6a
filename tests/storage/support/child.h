#pragma once

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>

namespace ckptsim::test {

// Runs the body in a child process, so that the limits and filters that it sets die with it. A body that
// returns text fails the test with it; an empty text passes.
template <typename Body>
void expect_in_child(Body body) {
  const auto run = [&body] {
    std::string complaint;
    try {
      complaint = body();
    } catch (const std::exception& error) {
      complaint = std::string("exception: ") + error.what();
    }
    std::fputs(complaint.c_str(), stderr);
    std::fflush(stderr);
    _exit(complaint.empty() ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// From now on the system call fails with that errno in this thread, as a container's filter would have it.
inline bool forbid_system_call(long number, int error) {
  const auto number_offset = static_cast<__u32>(offsetof(seccomp_data, nr));
  std::array<sock_filter, 4> program{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, number_offset},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<__u32>(number)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<__u32>(error)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// An ordinary user with that limit on locked memory, whoever runs the tests.
inline bool limit_locked_memory(rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  constexpr uid_t nobody = 65534;
  return setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && (geteuid() != 0 || seteuid(nobody) == 0);
}

}  // namespace ckptsim::test
