#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ckptsim::simulator {

// Which items each of `workers` takes, by index: the largest first, each to whom has the least so far. The
// same on every process. Items of one size stay in order.
[[nodiscard]] std::vector<std::vector<std::size_t>> divide_work(const std::vector<std::uint64_t>& sizes,
                                                                std::size_t workers);

}  // namespace ckptsim::simulator
