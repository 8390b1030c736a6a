// result.json, which is printed and reported on again, or handed on as a finished run's.
#include <string>
#include <string_view>

#include "simulator/report/result_json.h"
#include "simulator/report/result_reader.h"
#include "storage/errors.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/result_promises.h"

namespace ckptsim::fuzz {
namespace {

std::string read_and_written(const std::string& text) {
  try {
    return simulator::result_json(simulator::read_result(text, "written"));
  } catch (const storage::FormatError&) {
    return {};
  }
}

}  // namespace

// The schemas are held besides the input.
const MemoryLimit kMemoryLimit = {64, 4 << 20};

bool check(std::span<const std::byte> input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  simulator::RunResult run;
  try {
    run = simulator::read_result(text, "result.json");
  } catch (const storage::FormatError& error) {
    require_short(error.what());
    return false;
  }
  const std::string written = simulator::result_json(run);
  require(read_and_written(written) == written, "what was read and written reads back to itself");
  require_reports(run);
  return true;
}

}  // namespace ckptsim::fuzz
