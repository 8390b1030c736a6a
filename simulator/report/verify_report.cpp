#include "simulator/report/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "simulator/report/verify_notes.h"
#include "storage/text/printable.h"

namespace ckptsim::simulator {
namespace {

std::string result_words(const VerifiedCheckpoint& checkpoint) {
  if (checkpoint.is_wrong()) return checkpoint.has_read_error() ? "WRONG, and not all readable" : "WRONG";
  if (checkpoint.has_read_error()) return "cannot be read";
  return checkpoint.complete ? "right" : "right, incomplete";
}

double gb_per_s(const VerifiedCheckpoint& checkpoint) {
  return checkpoint.seconds > 0 ? static_cast<double>(checkpoint.file_bytes) / checkpoint.seconds / 1e9 : 0;
}

std::string plural(std::uint64_t count, const std::string& one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string details(const VerifiedCheckpoint& checkpoint, std::size_t most) {
  if (checkpoint.findings.empty()) return {};
  std::string text =
      fmt::format("\n{}: {} in {} not right\n", storage::printable(checkpoint.path),
                  plural(checkpoint.wrong_bytes, "byte"), plural(checkpoint.wrong_files, "file"));
  const std::size_t shown = std::min(most, checkpoint.findings.size());
  for (std::size_t i = 0; i < shown; ++i)
    text += "  " + storage::printable(sentence(checkpoint.findings[i])) + "\n";
  const std::uint64_t more = checkpoint.findings.size() - shown + checkpoint.more_ranges;
  if (more > 0) text += fmt::format("  and {} more\n", more);
  return text;
}

// Of a result whose exit code says so, with nothing wrong.
std::string no_complete_checkpoint(const VerifyResult& result) {
  std::string text = "no complete checkpoint is in the folders named, and what is there is right";
  if (!result.missing_parts.empty()) text += ": " + result.missing_parts.front();
  if (result.missing_parts.size() > 1) text += fmt::format("; and {} more", result.missing_parts.size() - 1);
  return text;
}

}  // namespace

Table verify_table(const VerifyResult& result) {
  const bool parts = std::any_of(result.checkpoints.begin(), result.checkpoints.end(),
                                 [](const VerifiedCheckpoint& checkpoint) { return checkpoint.parts > 1; });
  Table table;
  table.columns = {{"checkpoint", false}, {"pass", true}};
  if (parts) table.columns.push_back({"part", false});
  for (const char* const heading : {"files", "bytes", "seconds", "GB/s"})
    table.columns.push_back({heading, true});
  table.columns.push_back({"result", false});
  for (const VerifiedCheckpoint& checkpoint : result.checkpoints) {
    std::vector<std::string> row = {
        storage::printable(checkpoint.path),
        checkpoint.name.empty() ? std::string("-")
                                : fmt::format("{}{}", checkpoint.warmup ? "warm-up " : "", checkpoint.pass)};
    if (parts) row.push_back(fmt::format("{} of {}", checkpoint.part, checkpoint.parts));
    row.push_back(fmt::format("{}", checkpoint.files));
    row.push_back(fmt::format("{}", checkpoint.file_bytes));
    row.push_back(fmt::format("{:.3f}", checkpoint.seconds));
    row.push_back(fmt::format("{:.2f}", gb_per_s(checkpoint)));
    row.push_back(result_words(checkpoint));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string verify_report(const VerifyResult& result, TableFormat format, std::size_t most) {
  std::string text = render(verify_table(result), format);
  if (format == TableFormat::kCsv) return text;
  std::string notes;
  if (!result.incomplete.empty())
    notes += storage::printable(fmt::format("Incomplete, skipped: {} ({})", result.incomplete.size(),
                                            fmt::join(result.incomplete, ", "))) +
             "\n";
  for (const std::string& parts : result.missing_parts)
    notes += storage::printable(fmt::format("Incomplete: {}", parts)) + "\n";
  for (const std::string& note : reading_notes(result))
    notes += storage::printable(note) + "\n";
  if (!notes.empty()) text += "\n" + notes;
  for (const VerifiedCheckpoint& checkpoint : result.checkpoints)
    text += details(checkpoint, most);
  return text;
}

std::string verify_summary(const VerifyResult& result) {
  std::uint64_t wrong = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t unreadable = 0;
  const Finding* first = nullptr;
  std::string first_path;
  for (const VerifiedCheckpoint& checkpoint : result.checkpoints) {
    if (checkpoint.is_wrong()) ++wrong;
    files += checkpoint.wrong_files;
    bytes += checkpoint.wrong_bytes;
    unreadable += checkpoint.unreadable_bytes;
    for (const Finding& finding : checkpoint.findings) {
      if (first != nullptr && (!first->is_read_error() || finding.is_read_error())) continue;
      first = &finding;
      first_path = checkpoint.path;
    }
  }
  if (first == nullptr && result.exit_code() == ExitCode::kUnsuitable) return no_complete_checkpoint(result);
  if (first == nullptr) return {};
  if (wrong == 0) {
    return fmt::format("{} could not be read, and nothing else is wrong; first {}/{}",
                       plural(unreadable, "byte"), first_path, headline(*first));
  }
  return fmt::format(
      "{} of {} {} wrong: {} in {}{}; first {}/{}", wrong, plural(result.checkpoints.size(), "checkpoint"),
      wrong == 1 ? "is" : "are", plural(bytes, "byte"), plural(files, "file"),
      unreadable > 0 ? fmt::format(", and {} could not be read", plural(unreadable, "byte")) : std::string(),
      first_path, headline(*first));
}

}  // namespace ckptsim::simulator
