#include "simulator/run/rank_save_text.h"

#include <sstream>
#include <stdexcept>

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
  for (auto& interval : save.busy) {
    visit(interval.begin_ns);
    visit(interval.end_ns);
  }
}

}  // namespace

std::string rank_save_to_text(const RankSave& save) {
  std::ostringstream text;
  text << save.host << ' ' << save.profile.has_value() << ' ' << save.busy.size();
  for_each_number(save, [&](const auto& number) { text << ' ' << number; });
  return text.str();
}

RankSave rank_save_from_text(const std::string& text) {
  RankSave save;
  std::istringstream stream(text);
  bool profiled = false;
  std::size_t intervals = 0;
  stream >> save.host >> profiled >> intervals;
  if (!stream || intervals > text.size()) throw std::invalid_argument("a rank's measurement arrived damaged");
  save.busy.resize(intervals);
  if (profiled) save.profile.emplace();
  for_each_number(save, [&](auto& number) { stream >> number; });
  if (!stream) throw std::invalid_argument("a rank's measurement arrived damaged");
  return save;
}

}  // namespace ckptsim::simulator
