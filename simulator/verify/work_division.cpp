#include "simulator/verify/work_division.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace ckptsim::simulator {

std::vector<std::vector<std::size_t>> divide_work(const std::vector<std::uint64_t>& sizes,
                                                  std::size_t workers) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  using Load = std::pair<std::uint64_t, std::size_t>;  // bytes so far, worker
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::size_t worker = 0; worker < workers; ++worker)
    loads.emplace(0, worker);
  std::vector<std::vector<std::size_t>> shares(workers);
  for (const std::size_t item : order) {
    const auto [bytes, worker] = loads.top();
    loads.pop();
    shares[worker].push_back(item);
    loads.emplace(bytes + sizes[item], worker);
  }
  return shares;
}

}  // namespace ckptsim::simulator
