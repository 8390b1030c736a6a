#include "storage/target/check.h"

#include <cstdio>
#include <cstdlib>

namespace ckptsim::storage {

void check_failed(const char* invariant) noexcept {
  std::fputs("ckptsim: broken invariant: ", stderr);
  std::fputs(invariant, stderr);
  std::fputs("\n", stderr);
  std::abort();
}

}  // namespace ckptsim::storage
