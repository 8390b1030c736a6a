#pragma once

#include <cerrno>

namespace ckptsim::storage {

// Calls again where a signal handler ran meanwhile (EINTR), which is no failure of the call. Not for fsync,
// whose failure is never to be tried again, nor for close, after which the descriptor is gone.
template <typename Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace ckptsim::storage
