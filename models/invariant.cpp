#include "models/invariant.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace ckptsim {

void require(bool holds, std::string_view rule) {
  if (holds) return;
  fmt::print(stderr, "ckptsim: broken invariant: {}\n", rule);
  std::abort();
}

}  // namespace ckptsim
