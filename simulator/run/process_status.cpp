#include "simulator/run/process_status.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

namespace ckptsim::simulator {

std::string process_status() {
  std::ifstream file("/proc/self/status");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<std::string> status_value(const std::string& status, std::string_view key) {
  const std::string label = fmt::format("\n{}:", key);
  const std::size_t found = status.find(label);
  if (found == std::string::npos) return std::nullopt;
  const std::size_t begin = status.find_first_not_of(" \t", found + label.size());
  return status.substr(begin, status.find('\n', begin) - begin);
}

}  // namespace ckptsim::simulator
