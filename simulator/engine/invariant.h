#pragma once

#include <cstdio>
#include <cstdlib>

// A broken invariant is this program's own fault: it says where and stops, in every build.
#define CKPTSIM_INVARIANT(condition, why)                                                                   \
  do {                                                                                                      \
    if (!(condition)) {                                                                                     \
      std::fprintf(stderr, "ckptsim: internal error at %s:%d: %s (%s)\n", __FILE__, __LINE__, why, #condition); \
      std::abort();                                                                                         \
    }                                                                                                       \
  } while (false)
