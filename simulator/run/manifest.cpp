#include "simulator/run/manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/invariant.h"
#include "simulator/plan/plan.h"
#include "storage/torch/crc32.h"

namespace ckptsim::simulator {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(std::uint32_t crc) {
  return fmt::format("{:08x}", crc);
}

}  // namespace

std::string manifest_head(const RunConfig& config, const ManifestHead& head) {
  const Json members = {
      {"schema", "ckptsim.manifest/1"},
      {"name", config.name},
      {"pass", head.pass},
      {"warmup", head.warmup},
      {"checkpoint", head.checkpoint},
      {"content",
       {{"seed", config.content_seed},
        {"kind", config.content_kind},
        {"compressible_fraction", config.content_compressible_fraction},
        {"duplicate_fraction", config.content_duplicate_fraction},
        {"pass", head.content_pass}}},
      {"torch_dialect", effective_dialect(config)},
      {"alignment_bytes", config.storage.alignment_bytes},
      {"synced", config.checkpoint.fsync != "off"},
  };
  const std::string text = members.dump(1);
  return text.substr(1, text.size() - 3);  // without "{" and "\n}"
}

std::string manifest_files(std::int64_t rank, const std::vector<std::string>& names,
                           const std::vector<storage::torch::FileDigest>& digests) {
  require(names.size() == digests.size(), "a manifest lists exactly the files that were written");
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Json records = Json::array();
    for (const storage::torch::RecordDigest& record : digests[i].records) {
      records.push_back({{"name", record.name},
                         {"offset", record.payload_offset},
                         {"bytes", record.bytes},
                         {"crc32", hex(record.crc32)}});
    }
    const Json file = {{"name", names[i]},
                       {"rank", rank},
                       {"file_bytes", digests[i].file_bytes},
                       {"crc32", hex(digests[i].crc32)},
                       {"records", std::move(records)}};
    if (!text.empty()) text += ",\n  ";
    text += file.dump();
  }
  return text;
}

std::string seal_manifest(const std::string& head, const std::vector<std::string>& files) {
  std::string text = fmt::format("{{{},\n \"files\": [\n  {}\n ],\n \"manifest_crc32\": \"", head,
                                 fmt::join(files, ",\n  "));
  const std::uint32_t crc = storage::torch::crc32(0, std::as_bytes(std::span(text)));
  return text + hex(crc) + "\"\n}\n";
}

}  // namespace ckptsim::simulator
