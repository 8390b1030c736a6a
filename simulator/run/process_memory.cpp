#include "simulator/run/process_memory.h"

#include <sys/resource.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace ckptsim::simulator {

std::uint64_t max_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::uint64_t parse_huge_page_bytes(const std::string& smaps_rollup) {
  std::uint64_t total_bytes = 0;
  std::istringstream lines(smaps_rollup);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kib = 0;
    if (!(words >> key >> kib)) continue;
    if (key == "AnonHugePages:" || key == "Private_Hugetlb:") total_bytes += kib * 1024;
  }
  return total_bytes;
}

std::uint64_t huge_page_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  return parse_huge_page_bytes({std::istreambuf_iterator<char>(file), {}});
}

}  // namespace ckptsim::simulator
