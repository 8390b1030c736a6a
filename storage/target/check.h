#pragma once

namespace ckptsim::storage {

// Says on stderr which invariant is broken and aborts.
[[noreturn]] void check_failed(const char* invariant) noexcept;

// An assertion that no build leaves out: a benchmark that goes on after a broken invariant reports wrong
// numbers.
inline void check(bool holds, const char* invariant) noexcept {
  if (!holds) check_failed(invariant);
}

}  // namespace ckptsim::storage
