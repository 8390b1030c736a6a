#include "simulator/run/started_thread.h"

#include <fmt/format.h>

namespace ckptsim::simulator {

void refuse_thread(const std::system_error& error, const std::string& purpose) {
  throw std::system_error(error.code(), fmt::format("cannot start a thread {} (raise the limit on processes, "
                                                    "ulimit -u, or launch more processes)",
                                                    purpose));
}

}  // namespace ckptsim::simulator
