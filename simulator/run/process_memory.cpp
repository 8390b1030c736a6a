#include "simulator/run/process_memory.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "simulator/run/process_status.h"

namespace ckptsim::simulator {
namespace {

// "7f2c00000000-7f2c01800000 rw-p 00000000 00:00 0"
bool is_mapping(const std::string& line, std::uintptr_t& begin, std::uintptr_t& end) {
  std::istringstream words(line);
  char dash = 0;
  return static_cast<bool>(words >> std::hex >> begin >> dash >> end) && dash == '-';
}

}  // namespace

// Not getrusage's ru_maxrss: that is handed on by whoever started this program.
std::uint64_t max_rss_bytes() {
  const std::optional<std::string> text = status_value(process_status(), "VmHWM");  // "43588 kB"
  return text.has_value() ? std::stoull(*text) * 1024 : 0;
}

std::uint64_t parse_huge_page_bytes(const std::string& smaps, const MemoryAreas& areas) {
  const auto holds_an_area = [&areas](std::uintptr_t begin, std::uintptr_t end) {
    return std::any_of(areas.begin(), areas.end(), [begin, end](std::span<const std::byte> area) {
      const auto start = reinterpret_cast<std::uintptr_t>(area.data());
      return start < end && begin < start + area.size();
    });
  };
  std::uint64_t total_bytes = 0;
  bool counts = false;
  std::istringstream lines(smaps);
  for (std::string line; std::getline(lines, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uint64_t kib = 0;
    std::string key;
    if (is_mapping(line, begin, end)) {
      counts = holds_an_area(begin, end);
    } else if (std::istringstream words(line); counts && words >> key >> kib) {
      if (key == "AnonHugePages:" || key == "Private_Hugetlb:") total_bytes += kib * 1024;
    }
  }
  return total_bytes;
}

std::uint64_t huge_page_bytes(const MemoryAreas& areas) {
  std::ifstream file("/proc/self/smaps");
  return parse_huge_page_bytes({std::istreambuf_iterator<char>(file), {}}, areas);
}

}  // namespace ckptsim::simulator
