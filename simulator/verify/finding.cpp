#include "simulator/verify/finding.h"

#include <fmt/format.h>

#include <vector>

#include "simulator/communicator/packing.h"

namespace ckptsim::simulator {
namespace {

std::string place(const Finding& finding) {
  if (finding.part.empty()) return {};
  if (finding.record.empty()) return fmt::format(", in the {} of the archive", finding.part);
  if (finding.tensor.empty()) return fmt::format(", in the {} of record {}", finding.part, finding.record);
  return fmt::format(", in the {} of record {}, tensor {} at byte {}", finding.part, finding.record,
                     finding.tensor, finding.tensor_offset);
}

// "bytes 3 to 9", "byte 3".
std::string range(const Finding& finding) {
  if (finding.bytes == 1) return fmt::format("byte {}", finding.offset);
  return fmt::format("bytes {} to {}", finding.offset, finding.offset + finding.bytes - 1);
}

std::string difference(const Finding& finding) {
  const std::string values = finding.expected.empty()
                                 ? std::string()
                                 : fmt::format(" ({} instead of {})", finding.found, finding.expected);
  if (finding.wrong_bytes < finding.bytes)
    return fmt::format("{} of the {} differ{}", finding.wrong_bytes, range(finding), values);
  return fmt::format("{} differ{}{}", range(finding), finding.bytes == 1 ? "s" : "", values);
}

}  // namespace

std::string headline(const Finding& finding) {
  if (finding.kind == "bytes")
    return fmt::format("{}: {}{}", finding.file, difference(finding), place(finding));
  return sentence(finding);
}

std::string sentence(const Finding& finding) {
  if (finding.kind == "bytes")
    return finding.words.empty() ? headline(finding)
                                 : fmt::format("{}; {}", headline(finding), finding.words);
  if (finding.bytes == 0) return fmt::format("{}: {}", finding.file, finding.words);
  return fmt::format("{}: {} {}", finding.file, range(finding), finding.words);
}

std::string finding_to_text(const Finding& finding) {
  return pack({finding.kind, finding.file, std::to_string(finding.offset), std::to_string(finding.bytes),
               std::to_string(finding.wrong_bytes), finding.part, finding.record, finding.tensor,
               std::to_string(finding.tensor_offset), finding.expected, finding.found, finding.words});
}

Finding finding_from_text(const std::string& text) {
  const std::vector<std::string> field = unpack(text);
  return {.kind = field.at(0),
          .file = field.at(1),
          .offset = std::stoull(field.at(2)),
          .bytes = std::stoull(field.at(3)),
          .wrong_bytes = std::stoull(field.at(4)),
          .part = field.at(5),
          .record = field.at(6),
          .tensor = field.at(7),
          .tensor_offset = std::stoull(field.at(8)),
          .expected = field.at(9),
          .found = field.at(10),
          .words = field.at(11)};
}

}  // namespace ckptsim::simulator
