#include "simulator/run/rank_save_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace ckptsim::simulator {
namespace {

// Calls `visit` with every number of a measurement, so that writing and reading cannot come apart.
template <typename Save, typename Visit>
void for_each_number(Save& save, Visit&& visit) {
  visit(save.rank);
  visit(save.target);
  visit(save.payload_bytes);
  visit(save.file_bytes);
  visit(save.padding_bytes);
  visit(save.blocks);
  visit(save.sync_calls);
  visit(save.duration_ns);
  for (auto& phase_ns : save.phase_ns)
    visit(phase_ns);
  visit(save.started_ns);
  visit(save.exit_ns);
  visit(save.idle_ns);
  visit(save.cpu_ns);
  visit(save.cpu_wait_ns);
  visit(save.max_rss_bytes);
  visit(save.depth_integral_ns);
  visit(save.latency_p50_ns);
  visit(save.latency_p99_ns);
  visit(save.latency_p999_ns);
  visit(save.latency_max_ns);
  visit(save.busy_resolution_ns);
  if (save.profile.has_value()) {
    visit(save.profile->generation_ns);
    visit(save.profile->crc_ns);
    visit(save.profile->submission_ns);
    visit(save.profile->wait_ns);
  }
}

[[noreturn]] void refuse() {
  throw std::invalid_argument("a rank's measurement arrived damaged");
}

// Seven bits a byte, the lowest first; the last byte has its highest bit clear.
void append_varint(std::string& text, std::int64_t number) {
  auto rest = static_cast<std::uint64_t>(number);
  for (; rest >= 0x80; rest >>= 7U)
    text += static_cast<char>((rest & 0x7FU) | 0x80U);
  text += static_cast<char>(rest);
}

std::int64_t take_varint(std::string_view& text) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return static_cast<std::int64_t>(number);
  }
  refuse();
}

// Thousands of intervals a rank, in order: the steps from one bound to the next are a few bytes each.
void append_intervals(std::string& text, const std::vector<Interval>& intervals) {
  std::int64_t last_ns = 0;
  for (const Interval& interval : intervals) {
    append_varint(text, interval.begin_ns - last_ns);
    append_varint(text, interval.end_ns - interval.begin_ns);
    last_ns = interval.end_ns;
  }
}

void take_intervals(std::string_view& text, std::vector<Interval>& intervals) {
  std::int64_t last_ns = 0;
  for (Interval& interval : intervals) {
    interval.begin_ns = last_ns + take_varint(text);
    interval.end_ns = interval.begin_ns + take_varint(text);
    last_ns = interval.end_ns;
  }
}

}  // namespace

std::string rank_save_to_text(const RankSave& save) {
  std::string text = fmt::format("{} {} {}", save.host, save.profile.has_value() ? 1 : 0, save.busy.size());
  for_each_number(save, [&](const auto& number) { fmt::format_to(std::back_inserter(text), " {}", number); });
  text += '\n';
  append_intervals(text, save.busy);
  return text;
}

RankSave rank_save_from_text(const std::string& text) {
  RankSave save;
  const std::size_t line_end = text.find('\n');
  if (line_end == std::string::npos) refuse();
  std::istringstream line(text.substr(0, line_end));
  bool profiled = false;
  std::size_t intervals = 0;
  line >> save.host >> profiled >> intervals;
  if (!line || intervals > text.size()) refuse();
  if (profiled) save.profile.emplace();
  for_each_number(save, [&](auto& number) { line >> number; });
  if (!line) refuse();
  save.busy.resize(intervals);
  std::string_view rest = std::string_view(text).substr(line_end + 1);
  take_intervals(rest, save.busy);
  return save;
}

}  // namespace ckptsim::simulator
