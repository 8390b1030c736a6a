#pragma once

#include <string>
#include <vector>

#include "simulator/config/run_config.h"
#include "simulator/tune/search.h"

namespace ckptsim::simulator {

// Which settings `tune` varies, and through which values.

// The dimensions to vary from `config`, each with its configured value first. Left out are the keys that the
// user fixed (`overrides`, as --set takes them: of the key itself or of an object around it) and those that
// only io_uring has, where the backend is another.
[[nodiscard]] std::vector<Dimension> dimensions_to_vary(const RunConfig& config,
                                                        const std::vector<std::string>& overrides,
                                                        bool io_uring);

// The keys of the grid that the backend has: those of a result, fixed ones among them.
[[nodiscard]] std::vector<std::string> grid_keys(bool io_uring);

}  // namespace ckptsim::simulator
