#include "simulator/report/clean_report.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>

namespace ckptsim::simulator {
namespace {

using Json = nlohmann::ordered_json;

storage::Contents total(const storage::Cleaning& cleaning) {
  storage::Contents all;
  for (const storage::CleanedRun& run : cleaning.runs)
    all += run.contents;
  return all;
}

std::string counted(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string sentence(const CleanReport& report) {
  const storage::Cleaning& cleaning = report.cleaning;
  const std::string place = report.scope.target.string();
  const char* const verb = report.dry_run ? "Would remove" : "Removed";
  const std::string itself =
      cleaning.marked_directory.empty()
          ? ""
          : fmt::format("{} with its marker and lock", cleaning.marked_directory.string());
  if (cleaning.runs.empty() && itself.empty()) return fmt::format("No runs on target {}.", place);
  if (cleaning.runs.empty()) return fmt::format("No runs. {} {}.", verb, itself);
  const storage::Contents all = total(cleaning);
  const storage::CleanedRun& first = cleaning.runs.front();
  const std::string runs = first.whole ? fmt::format("{}, {}", counted(cleaning.runs.size(), "run"),
                                                     counted(all.checkpoints, "checkpoint"))
                                       : fmt::format("{} of run {}, which keeps others",
                                                     counted(all.checkpoints, "checkpoint"), first.name);
  return fmt::format("{} from target {}: {}, {}, {:.3f} GB{}.", verb, place, runs, counted(all.files, "file"),
                     static_cast<double>(all.file_bytes) / 1e9, itself.empty() ? "" : ", and " + itself);
}

}  // namespace

Table clean_table(const CleanReport& report) {
  Table table{.columns = {{"run", false}, {"checkpoints"}, {"files"}, {"bytes"}}, .rows = {}};
  for (const storage::CleanedRun& run : report.cleaning.runs) {
    table.rows.push_back({run.name, std::to_string(run.contents.checkpoints),
                          std::to_string(run.contents.files), std::to_string(run.contents.file_bytes)});
  }
  return table;
}

std::string clean_report(const CleanReport& report, TableFormat format) {
  std::string table =
      report.cleaning.runs.empty() && format != TableFormat::kCsv ? "" : render(clean_table(report), format);
  if (format == TableFormat::kCsv) return table;
  return table + (table.empty() ? "" : "\n") + sentence(report) + "\n";
}

std::string clean_json(const CleanReport& report) {
  const storage::Contents all = total(report.cleaning);
  Json runs = Json::array();
  for (const storage::CleanedRun& run : report.cleaning.runs) {
    runs.push_back({{"run", run.name},
                    {"whole", run.whole},
                    {"checkpoints", run.contents.checkpoints},
                    {"files", run.contents.files},
                    {"bytes", run.contents.file_bytes}});
  }
  const Json object{{"target", report.scope.target.string()},
                    {"dry_run", report.dry_run},
                    {"runs", runs},
                    {"checkpoints", all.checkpoints},
                    {"files", all.files},
                    {"bytes", all.file_bytes},
                    {"marked_directory", !report.cleaning.marked_directory.empty()}};
  return object.dump(2) + "\n";
}

}  // namespace ckptsim::simulator
