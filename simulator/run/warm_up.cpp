#include "simulator/run/warm_up.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "simulator/run/started_thread.h"

namespace ckptsim::simulator {

void warm_up(const std::vector<std::unique_ptr<RankWorker>>& workers) {
  std::atomic<std::size_t> next{0};
  const auto touch = [&workers, &next] {
    for (std::size_t i = next++; i < workers.size(); i = next++)
      workers[i]->warm_up();
  };
  // 0 where the system does not say.
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> helpers;  // joined at the end of the scope
  for (std::size_t i = 1; i < std::min(processors, workers.size()); ++i)
    helpers.push_back(started_thread("to touch buffers", touch));
  touch();
}

}  // namespace ckptsim::simulator
