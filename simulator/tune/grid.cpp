#include "simulator/tune/grid.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "simulator/config/config_part.h"

namespace ckptsim::simulator {
namespace {

enum class Backends { kAll, kIoUring };

struct Row {
  std::string_view key;
  std::string_view values;  // as --set takes them, with blanks between
  bool in_product;
  Backends backends;
};

// A further setting is a row here.
constexpr std::array kGrid = {
    Row{"storage.block_bytes", "1048576 2097152 4194304 8388608 16777216", true, Backends::kAll},
    Row{"storage.queue_depth", "2 4 8 16", true, Backends::kIoUring},
    Row{"storage.preallocate", "false true", false, Backends::kAll},
    Row{"storage.registered_files", "false true", false, Backends::kIoUring},
    Row{"storage.sqpoll", "false true", false, Backends::kIoUring},
    Row{"storage.iopoll", "false true", false, Backends::kIoUring},
    Row{"storage.huge_pages", "auto off", false, Backends::kAll},
};

bool has_effect(const Row& row, bool io_uring) {
  return io_uring || row.backends == Backends::kAll;
}

bool is_fixed(std::string_view key, const std::vector<std::string>& overrides) {
  return std::any_of(overrides.begin(), overrides.end(), [key](std::string_view text) {
    const std::string_view set = text.substr(0, text.find('='));
    return key == set || (key.starts_with(set) && key.substr(set.size()).starts_with('.'));
  });
}

Dimension dimension_of(const Row& row, const std::string& configured) {
  Dimension dimension{.key = std::string(row.key), .values = {configured}, .in_product = row.in_product};
  std::istringstream values{std::string(row.values)};
  for (std::string value; values >> value;) {
    if (value != configured) dimension.values.push_back(value);
  }
  return dimension;
}

}  // namespace

std::vector<Dimension> dimensions_to_vary(const RunConfig& config, const std::vector<std::string>& overrides,
                                          bool io_uring) {
  std::vector<Dimension> dimensions;
  for (const Row& row : kGrid) {
    if (!has_effect(row, io_uring) || is_fixed(row.key, overrides)) continue;
    dimensions.push_back(dimension_of(row, config_value(config, std::string(row.key))));
  }
  return dimensions;
}

std::vector<std::string> grid_keys(bool io_uring) {
  std::vector<std::string> keys;
  for (const Row& row : kGrid) {
    if (has_effect(row, io_uring)) keys.emplace_back(row.key);
  }
  return keys;
}

}  // namespace ckptsim::simulator
