#include "simulator/report/tune_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "simulator/report/run_tables.h"
#include "simulator/run/statistics.h"

namespace ckptsim::simulator {
namespace {

std::string value_of(const std::string& override_text) {
  return override_text.substr(override_text.find('=') + 1);
}

// "block_bytes": the columns are narrow, and every key of the grid is the storage's.
std::string short_name(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

std::string note(const TuneResult& result, std::size_t trial) {
  const Trial& one = result.found.trials[trial];
  if (!one.refusal.empty()) return "refused: " + one.refusal;
  std::vector<std::string> notes;
  if (trial == 0) notes.emplace_back("as configured");
  if (trial == result.found.best) notes.emplace_back("best");
  if (!one.compared.empty()) notes.emplace_back("compared");
  return fmt::format("{}", fmt::join(notes, ", "));
}

std::vector<std::string> figures(const Trial& trial) {
  const std::vector<double>& values = trial.counted();
  if (values.empty()) return {"0", "-", "-", "-"};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {fmt::format("{}", trial.screened.size() + trial.compared.size()),
          fmt::format("{:.3f}", median(values)), fmt::format("{:.3f}", *least), fmt::format("{:.3f}", *most)};
}

std::string gb(std::uint64_t bytes) {
  return fmt::format("{:.3f}", static_cast<double>(bytes) / 1e9);
}

std::string bounds(const MeasurementFacts& facts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : facts.bounds)
    parts.push_back(fmt::format("{} ({})", name, count));
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool mostly_bound_by_host(const MeasurementFacts& facts) {
  std::uint64_t all = 0;
  for (const auto& [name, count] : facts.bounds)
    all += count;
  const auto host = facts.bounds.find(std::string(bound_name(Bound::kHost)));
  return host != facts.bounds.end() && 2 * host->second > all;
}

std::string written_layers(const RunResult& run, std::int64_t layers) {
  const double mean_mb = static_cast<double>(run.plan.file_bytes) / 1e6 / static_cast<double>(run.plan.files);
  if (run.config.model.layers == layers) return fmt::format("A file is {:.1f} MB on average.\n", mean_mb);
  return fmt::format(
      "Only {} of the model's {} layers are written, so that files are fewer and larger: {:.1f} MB on "
      "average.\n",
      run.config.model.layers, layers, mean_mb);
}

std::string conditions_of_tuning(const TuneResult& result) {
  const MeasurementFacts& facts = result.facts;
  const RunResult& run = facts.first;
  std::string text = headline(run.config, run.plan) + "\n";
  text += written_layers(run, result.layers);
  text += fmt::format("Backend {} ({}), fsync \"{}\", new files for every checkpoint.\n",
                      run.effective.backend, run.effective.backend_reason, run.config.checkpoint.fsync);
  text += target_lines(run.environment);
  text += fmt::format(
      "{} checkpoints in {:.0f} s, the first ones smaller to find their size: {} GB were written, and "
      "removed again. Bound by: {}.\n",
      facts.checkpoints, result.seconds, gb(facts.written_bytes), bounds(facts));
  if (run.effective.backend == "io_uring" && facts.unregistered > 0) {
    text += fmt::format("Buffers were not registered in {} of them ({}).\n", facts.unregistered,
                        facts.unregistered_reason);
  }
  return text;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string certainty(const Found& found) {
  switch (found.verdict) {
    case Verdict::kBetter:
      return fmt::format(
          "The best settings wrote {} faster than the configured ones, by the medians of {} checkpoints each "
          "in turn, "
          "which is more than the noise of {}.",
          percent(found.gain), found.comparisons, percent(found.noise));
    case Verdict::kNotBetter:
      return found.comparisons == 0
                 ? "Every other setting was refused here, so that the best settings are the configured ones."
                 : fmt::format(
                       "No setting was better than the configured ones by more than the noise of {}, so that "
                       "the best settings are the configured ones.",
                       percent(found.noise));
    case Verdict::kOutOfTime:
      break;
  }
  return "There was no time to compare any settings with the configured ones often enough, so that the "
         "configured "
         "ones stand as the best; give it more --seconds.";
}

}  // namespace

Table tried_table(const TuneResult& result) {
  Table table;
  for (const Dimension& dimension : result.dimensions)
    table.columns.push_back({short_name(dimension.key)});
  for (const char* heading : {"checkpoints", "GB/s", "min", "max"})
    table.columns.push_back({heading});
  table.columns.push_back({"note", false});
  for (std::size_t i = 0; i < result.found.trials.size(); ++i) {
    const Trial& trial = result.found.trials[i];
    std::vector<std::string> row;
    for (const std::string& setting : trial.settings)
      row.push_back(value_of(setting));
    for (std::string& figure : figures(trial))
      row.push_back(std::move(figure));
    row.push_back(note(result, i));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string verdict_sentence(const TuneResult& result) {
  std::string text = certainty(result.found);
  if (result.found.not_tried > 0) {
    text += fmt::format(" {} settings were not tried for lack of time.", result.found.not_tried);
  }
  if (mostly_bound_by_host(result.facts)) {
    text +=
        " The host and not the drive was the bound of most checkpoints, so that they say little of the "
        "drive.";
  }
  return text;
}

std::string tune_report(const TuneResult& result, TableFormat format) {
  std::string table = render(tried_table(result), format);
  if (format == TableFormat::kCsv) return table;
  const bool markdown = format == TableFormat::kMarkdown;
  const std::string best = markdown ? "```json\n" + result.best + "\n```" : result.best;
  return conditions_of_tuning(result) + "\n" + table + "\nBest, for the run's configuration:\n" +
         (markdown ? "\n" : "") + best + "\n" + (markdown ? "\n" : "") + verdict_sentence(result) + "\n";
}

}  // namespace ckptsim::simulator
