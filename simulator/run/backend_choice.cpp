#include "simulator/run/backend_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "simulator/engine/failure.h"

namespace ckptsim::simulator {

BackendChoice decide_backend(const std::string& asked, const std::vector<std::string>& refusals) {
  using storage::Backend;
  if (asked == "null") return {Backend::kNull, "as asked"};
  if (asked == "buffered") return {Backend::kBuffered, "as asked"};
  if (asked == "direct") return {Backend::kDirect, "as asked"};
  const auto refused = std::find_if(refusals.begin(), refusals.end(),
                                    [](const std::string& reason) { return !reason.empty(); });
  if (refused == refusals.end()) {
    return {Backend::kIoUring, asked == "auto" ? "auto: this kernel allows io_uring" : "as asked"};
  }
  if (asked == "auto")
    return {Backend::kDirect, fmt::format("auto: io_uring is refused here ({})", *refused)};
  throw RunFailure(ExitCode::kUnsuitable,
                   fmt::format("io_uring is refused here ({}); use --backend direct, or auto", *refused));
}

BackendChoice choose_backend(Communicator& communicator, const std::string& asked) {
  const bool may_use_io_uring = asked == "auto" || asked == "io_uring";
  const std::string refusal = may_use_io_uring ? storage::io_uring_refusal() : "";
  return decide_backend(asked, communicator.all_gather(refusal));
}

}  // namespace ckptsim::simulator
