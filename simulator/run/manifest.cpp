#include "simulator/run/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <variant>

#include "models/invariant.h"
#include "simulator/plan/plan.h"
#include "storage/torch/crc32.h"

namespace ckptsim::simulator {
namespace {

namespace torch = storage::torch;
using Json = nlohmann::ordered_json;

void append_entry(std::string& text, const torch::Entry& entry, bool first) {
  const auto out = std::back_inserter(text);
  fmt::format_to(out, R"({}{{"key":{},)", first ? "" : ",", Json(entry.key).dump());
  if (const auto* tensor = std::get_if<torch::TensorSpec>(&entry.value)) {
    fmt::format_to(out, R"("dtype":"{}","shape":[{}]}})", torch::short_name(tensor->type),
                   fmt::join(tensor->shape, ","));
  } else if (const auto* number = std::get_if<std::int64_t>(&entry.value)) {
    fmt::format_to(out, R"("value":{}}})", *number);
  } else {
    fmt::format_to(out, R"("value":{}}})", Json(std::get<std::string>(entry.value)).dump());
  }
}

// The same record, whatever is in it.
bool same_place(const torch::RecordDigest& a, const torch::RecordDigest& b) {
  return a.payload_offset == b.payload_offset && a.bytes == b.bytes && a.name == b.name;
}

bool same_shape(const torch::FileDigest& a, const torch::FileDigest& b) {
  return a.file_bytes == b.file_bytes &&
         std::equal(a.records.begin(), a.records.end(), b.records.begin(), b.records.end(), same_place);
}

constexpr std::size_t kCrcDigits = 8;

void put_crc(std::string& text, std::size_t place, std::uint32_t crc) {
  for (std::size_t i = kCrcDigits; i-- > 0; crc >>= 4U)
    text[place + i] = "0123456789abcdef"[crc & 0xfU];
}

}  // namespace

std::string manifest_head(const RunConfig& config, const ManifestHead& head) {
  const Json members = {
      {"schema", kManifestSchema},
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

ManifestFiles::ManifestFiles(std::int64_t rank, const std::vector<torch::FileSpec>& files) {
  for (const torch::FileSpec& file : files) {
    Element element;
    element.beginning = fmt::format(R"({{"name":{},"rank":{},"entries":[)", Json(file.name).dump(), rank);
    for (const torch::Entry& entry : file.entries) {
      if (!std::holds_alternative<torch::TensorSpec>(entry.value)) break;
      append_entry(element.beginning, entry, element.entries == 0);
      ++element.entries;
    }
    elements_.push_back(std::move(element));
  }
}

// Names of records are the torch writer's own, without anything that JSON would have to escape.
void ManifestFiles::make_end(Element& element, const torch::FileDigest& digest) {
  element.shape = digest;
  element.end.clear();
  element.crc_places.clear();
  const auto out = std::back_inserter(element.end);
  const auto leave_room = [&element] {
    element.crc_places.push_back(element.end.size());
    element.end.append(kCrcDigits, '0');
  };
  fmt::format_to(out, R"(],"file_bytes":{},"crc32":")", digest.file_bytes);
  leave_room();
  element.end += R"(","records":[)";
  const char* separator = "";
  for (const torch::RecordDigest& record : digest.records) {
    fmt::format_to(out, R"({}{{"name":"{}","offset":{},"bytes":{},"crc32":")", separator, record.name,
                   record.payload_offset, record.bytes);
    leave_room();
    element.end += "\"}";
    separator = ",";
  }
  element.end += "]}";
}

void ManifestFiles::put_crcs(Element& element, const torch::FileDigest& digest) {
  put_crc(element.end, element.crc_places.front(), digest.crc32);
  for (std::size_t i = 0; i < digest.records.size(); ++i)
    put_crc(element.end, element.crc_places[i + 1], digest.records[i].crc32);
}

// Tens of thousands of records in a checkpoint of many ranks, while all of them wait.
std::string ManifestFiles::text(const std::vector<torch::FileSpec>& files,
                                const std::vector<torch::FileDigest>& digests) {
  require(files.size() == elements_.size() && files.size() == digests.size(),
          "a manifest lists exactly the files that were written");
  std::string text;
  text.reserve(last_bytes_);
  for (std::size_t i = 0; i < files.size(); ++i) {
    Element& element = elements_[i];
    if (element.end.empty() || !same_shape(element.shape, digests[i])) make_end(element, digests[i]);
    put_crcs(element, digests[i]);
    if (i > 0) text += ",\n  ";
    text += element.beginning;
    for (std::size_t entry = element.entries; entry < files[i].entries.size(); ++entry)
      append_entry(text, files[i].entries[entry], entry == 0);
    text += element.end;
  }
  last_bytes_ = text.size();
  return text;
}

std::string seal_manifest(const std::string& head, const ManifestPart& part,
                          const std::vector<std::string>& files) {
  std::string text =
      fmt::format("{{{},\n \"part\": {},\n \"parts\": {},\n \"files\": [\n  ", head, part.part, part.parts);
  std::size_t bytes = text.size();
  for (const std::string& of_rank : files)
    bytes += of_rank.size();
  constexpr std::size_t kBetween = 64;  // separators of a rank's, and the end
  text.reserve(bytes + kBetween * (files.size() + 1));
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i > 0) text += ",\n  ";
    text += files[i];
  }
  text += "\n ],\n \"manifest_crc32\": \"";
  const std::uint32_t crc = torch::crc32(0, std::as_bytes(std::span(text)));
  text += fmt::format("{:08x}\"\n}}\n", crc);
  return text;
}

}  // namespace ckptsim::simulator
