#include "simulator/run/manifest.h"

#include <fmt/format.h>

#include <iterator>
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
  const auto out = std::back_inserter(text);
  for (std::size_t i = 0; i < names.size(); ++i) {
    fmt::format_to(out, R"({}{{"name":{},"rank":{},"file_bytes":{},"crc32":"{:08x}","records":[)",
                   i == 0 ? "" : ",\n  ", Json(names[i]).dump(), rank, digests[i].file_bytes,
                   digests[i].crc32);
    // Tens of thousands in a checkpoint of many ranks, while all of them wait. Their names are the torch
    // writer's own, without anything that JSON would have to escape.
    const char* separator = "";
    for (const storage::torch::RecordDigest& record : digests[i].records) {
      fmt::format_to(out, R"({}{{"name":"{}","offset":{},"bytes":{},"crc32":"{:08x}"}})", separator,
                     record.name, record.payload_offset, record.bytes, record.crc32);
      separator = ",";
    }
    text += "]}";
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
