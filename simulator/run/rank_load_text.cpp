#include "simulator/run/rank_load_text.h"

#include <fmt/format.h>

#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace ckptsim::simulator {
namespace {

constexpr std::string_view kUnknown = "unknown";

void write(std::string& text, const auto& number) {
  fmt::format_to(std::back_inserter(text), " {}", number);
}
void write(std::string& text, const std::optional<std::uint64_t>& number) {
  text += number ? fmt::format(" {}", *number) : fmt::format(" {}", kUnknown);
}

void read(std::istream& line, auto& number) {
  line >> number;
}
void read(std::istream& line, std::optional<std::uint64_t>& number) {
  std::string word;
  line >> word;
  number.reset();
  if (word == kUnknown) return;
  std::istringstream digits(word);
  digits >> number.emplace();
  if (!digits || digits.peek() != std::istringstream::traits_type::eof()) line.setstate(std::ios::failbit);
}

// Calls `visit` with every number of a measurement, so that writing and reading cannot come apart.
template <typename Load, typename Visit>
void for_each_number(Load& load, Visit&& visit) {
  visit(load.rank);
  visit(load.read_rank);
  visit(load.payload_bytes);
  visit(load.file_bytes);
  visit(load.read_bytes);
  visit(load.blocks);
  visit(load.cached_bytes_before);
  visit(load.duration_ns);
  for (auto& phase_ns : load.phase_ns)
    visit(phase_ns);
  visit(load.idle_ns);
  visit(load.cpu_ns);
  visit(load.cpu_wait_ns);
  visit(load.latency_p50_ns);
  visit(load.latency_p99_ns);
  visit(load.latency_p999_ns);
  visit(load.latency_max_ns);
}

}  // namespace

std::string rank_load_to_text(const RankLoad& load) {
  std::string text = load.host;
  for_each_number(load, [&](const auto& number) { write(text, number); });
  return text;
}

RankLoad rank_load_from_text(const std::string& text) {
  RankLoad load;
  std::istringstream line(text);
  line >> load.host;
  for_each_number(load, [&](auto& number) { read(line, number); });
  if (!line || line.peek() != std::istringstream::traits_type::eof()) {
    throw std::invalid_argument("a rank's measurement of a load arrived damaged");
  }
  return load;
}

}  // namespace ckptsim::simulator
