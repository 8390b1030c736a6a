#pragma once

#include <string>

#include "simulator/communicator/communicator.h"
#include "storage/target/make_target.h"

namespace ckptsim::simulator {

// The backend a run uses, and why where that was left to the program.
struct BackendChoice {
  storage::Backend backend = storage::Backend::kIoUring;
  std::string reason;  // in words, for the report

  [[nodiscard]] bool direct_io() const {
    return backend == storage::Backend::kIoUring || backend == storage::Backend::kDirect;
  }
};

// Collective. `asked` is storage.backend. `auto`: io_uring where every process may use it, direct otherwise,
// never buffered. io_uring asked for and refused anywhere is RunFailure 3.
[[nodiscard]] BackendChoice choose_backend(Communicator& communicator, const std::string& asked);

// The same decision without the system: `refusals` holds every process's io_uring_refusal(). Throws
// RunFailure.
[[nodiscard]] BackendChoice decide_backend(const std::string& asked,
                                           const std::vector<std::string>& refusals);

}  // namespace ckptsim::simulator
