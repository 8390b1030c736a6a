#include "tests/fuzz/result_promises.h"

#include <string>

#include "simulator/report/result_folder.h"
#include "simulator/report/run_tables.h"
#include "storage/text/printable.h"
#include "tests/fuzz/check.h"

namespace ckptsim::fuzz {
namespace {

void require_printable_lines(const std::string& text) {
  require(!text.empty(), "a report says something");
  require(storage::printable_lines(text) == text, "a report is printable");
}

}  // namespace

void require_reports(const simulator::RunResult& run) {
  using simulator::TableFormat;
  for (const TableFormat format : {TableFormat::kText, TableFormat::kMarkdown})
    require_printable_lines(simulator::run_report(run, format));
  require_printable_lines(simulator::checkpoints_csv(run));
}

}  // namespace ckptsim::fuzz
