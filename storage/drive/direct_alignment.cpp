#include "storage/drive/direct_alignment.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace ckptsim::storage {
namespace {

// struct statx as the kernel lays it out. Headers have the two alignments since Linux 6.1 only, and glibc's
// own struct has them later still.
struct KernelStatx {
  std::uint32_t mask;
  std::array<std::byte, 148> not_asked_for;
  std::uint32_t direct_memory_align;
  std::uint32_t direct_offset_align;
  std::array<std::byte, 96> reserved;
};
static_assert(sizeof(KernelStatx) == 256);
static_assert(offsetof(KernelStatx, direct_memory_align) == 152);
constexpr unsigned kStatxDirectAlign = 0x2000;  // STATX_DIOALIGN

}  // namespace

std::optional<std::uint64_t> reported_direct_alignment(int descriptor) {
  KernelStatx facts{};
  if (syscall(SYS_statx, descriptor, "", AT_EMPTY_PATH, kStatxDirectAlign, &facts) != 0) {
    if (errno == ENOSYS || errno == EPERM) return std::nullopt;
    throw std::system_error(errno, std::system_category(), "statx");
  }
  if ((facts.mask & kStatxDirectAlign) == 0) return std::nullopt;
  if (facts.direct_memory_align == 0 || facts.direct_offset_align == 0) return 0;
  return std::max<std::uint64_t>(facts.direct_memory_align, facts.direct_offset_align);
}

}  // namespace ckptsim::storage
