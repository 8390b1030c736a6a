#include "simulator/run/rank_load_text.h"

#include <fmt/format.h>

#include <iterator>
#include <sstream>
#include <stdexcept>

namespace ckptsim::simulator {
namespace {

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
  for_each_number(load, [&](const auto& number) { fmt::format_to(std::back_inserter(text), " {}", number); });
  return text;
}

RankLoad rank_load_from_text(const std::string& text) {
  RankLoad load;
  std::istringstream line(text);
  line >> load.host;
  for_each_number(load, [&](auto& number) { line >> number; });
  if (!line || line.peek() != std::istringstream::traits_type::eof()) {
    throw std::invalid_argument("a rank's measurement of a load arrived damaged");
  }
  return load;
}

}  // namespace ckptsim::simulator
