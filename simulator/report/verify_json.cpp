#include <nlohmann/json.hpp>

#include "simulator/report/verify_report.h"

namespace ckptsim::simulator {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Finding& finding) {
  Json json = {{"kind", finding.kind}, {"file", finding.file}};
  if (finding.bytes > 0) {
    json["offset"] = finding.offset;
    json["bytes"] = finding.bytes;
    json["wrong_bytes"] = finding.wrong_bytes;
  }
  if (!finding.expected.empty()) {
    json["expected"] = finding.expected;
    json["found"] = finding.found;
  }
  if (!finding.part.empty()) json["part"] = finding.part;
  if (!finding.record.empty()) json["record"] = finding.record;
  if (!finding.tensor.empty()) {
    json["tensor"] = finding.tensor;
    json["tensor_offset"] = finding.tensor_offset;
  }
  json["message"] = sentence(finding);
  return json;
}

std::string word(const VerifiedCheckpoint& checkpoint) {
  if (checkpoint.is_wrong()) return "wrong";
  return checkpoint.has_read_error() ? "unreadable" : "right";
}

Json to_json(const VerifiedCheckpoint& checkpoint) {
  Json findings = Json::array();
  for (const Finding& finding : checkpoint.findings)
    findings.push_back(to_json(finding));
  return {{"path", checkpoint.path},
          {"name", checkpoint.name},
          {"pass", checkpoint.pass},
          {"warmup", checkpoint.warmup},
          {"checkpoint", checkpoint.checkpoint},
          {"part", checkpoint.part},
          {"parts", checkpoint.parts},
          {"complete", checkpoint.complete},
          {"files", checkpoint.files},
          {"file_bytes", checkpoint.file_bytes},
          {"uncompared_files", checkpoint.uncompared_files},
          {"uncompared_bytes", checkpoint.uncompared_bytes},
          {"duration_s", checkpoint.seconds},
          {"backend", checkpoint.backend},
          {"backend_reason", checkpoint.backend_reason},
          {"page_cache_seen", checkpoint.page_cache_seen},
          {"cached_bytes_before", checkpoint.cached_bytes ? Json(*checkpoint.cached_bytes) : Json(nullptr)},
          {"result", word(checkpoint)},
          {"wrong_files", checkpoint.wrong_files},
          {"wrong_bytes", checkpoint.wrong_bytes},
          {"unreadable_bytes", checkpoint.unreadable_bytes},
          {"findings", std::move(findings)},
          {"more_findings", checkpoint.more_ranges}};
}

}  // namespace

std::string verify_json(const VerifyResult& result) {
  Json checkpoints = Json::array();
  for (const VerifiedCheckpoint& checkpoint : result.checkpoints)
    checkpoints.push_back(to_json(checkpoint));
  const Json json = {
      {"schema", "ckptsim.verify/1"},        {"exit_code", static_cast<int>(result.exit_code())},
      {"processes", result.processes},       {"threads", result.threads},
      {"incomplete", result.incomplete},     {"missing_parts", result.missing_parts},
      {"not_verified", result.not_verified}, {"all", result.all},
      {"parts_are_enough", result.parts},    {"checkpoints", std::move(checkpoints)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ckptsim::simulator
