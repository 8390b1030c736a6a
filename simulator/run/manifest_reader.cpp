#include "simulator/run/manifest_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "simulator/plan/plan.h"
#include "simulator/run/strict_json.h"
#include "storage/errors.h"
#include "storage/text/printable.h"
#include "storage/torch/crc32.h"

namespace ckptsim::simulator {
namespace {

namespace torch = storage::torch;

constexpr std::size_t kDeepest = 6;        // files[].entries[].shape[]
constexpr std::size_t kLongestKey = 4096;  // of an entry, and its text
constexpr std::size_t kMostDimensions = 16;
constexpr std::uint64_t kMostPasses = 999'999;  // above it begin the content addresses of warm-up passes
constexpr std::uint64_t kMostCheckpoints = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kMostRanks = std::numeric_limits<std::int32_t>::max();
// Of a file's tensors, so that their headers cannot make the sum overflow.
constexpr std::uint64_t kMostPayloadBytes = std::uint64_t{1} << 62U;

// The last bytes of a manifest: eight digits, a quotation mark, a line feed, a brace, a line feed.
constexpr std::size_t kDigits = 8;
constexpr std::string_view kEnd = "\"\n}\n";

void check_own_crc(std::string_view text, const std::string& origin) {
  if (text.size() < kDigits + kEnd.size() || !text.ends_with(kEnd)) {
    throw storage::FormatError(fmt::format(
        "{}: does not end as a manifest does, with its own CRC; it was cut short or is damaged", origin));
  }
  const std::string_view covered = text.substr(0, text.size() - kDigits - kEnd.size());
  const std::string_view digits = text.substr(covered.size(), kDigits);
  const std::string found = fmt::format("{:08x}", torch::crc32(0, std::as_bytes(std::span(covered))));
  if (digits == found) return;
  throw storage::FormatError(
      fmt::format("{}: its bytes have the CRC {}, and it says another; it is damaged", origin, found));
}

void check_schema(const StrictValue& manifest) {
  const StrictValue schema = manifest["schema"];
  const std::string& name = schema.text();
  if (name == kManifestSchema) return;
  if (name == "ckptsim.manifest/1") {
    manifest.fail(
        "was written by an earlier version (ckptsim.manifest/1), whose manifests do not say what the tensors "
        "are; write the checkpoint again with a new run");
  }
  schema.fail(fmt::format("is not {}, which is what this version reads", kManifestSchema));
}

// A name that has no way out of its folder.
void check_file_name(const StrictValue& value) {
  const std::string& name = value.text();
  const std::size_t slash = name.find('/');
  const std::string_view folder = std::string_view(name).substr(0, slash == std::string::npos ? 0 : slash);
  const std::string_view file = std::string_view(name).substr(slash == std::string::npos ? 0 : slash + 1);
  const bool in_one_folder = slash == std::string::npos || (!folder.empty() && folder.front() != '.');
  const bool plain = !file.empty() && file.front() != '.' && file.find('/') == std::string_view::npos &&
                     name.find('\\') == std::string::npos && file.ends_with(".pt");
  const std::string shown = storage::printable(name);
  if (!in_one_folder || !plain || shown != name)
    value.fail(fmt::format("is '{}', which is no file that this program writes in a checkpoint", shown));
}

void check_run_name(const StrictValue& value) {
  constexpr std::size_t kLongest = 128;  // and the letters of run.schema.json
  const std::string& name = value.text(kLongest);
  const bool plain = std::all_of(name.begin(), name.end(), [](char letter) {
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    return is_letter || (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
  });
  if (!plain || std::string_view("._-").find(name.front()) != std::string_view::npos)
    value.fail(fmt::format("is '{}', which is no name of a run", name));
}

storage::ContentSettings content_of(const StrictValue& content) {
  content.require_members({"seed", "kind", "compressible_fraction", "duplicate_fraction", "pass"});
  const StrictValue kind = content["kind"];
  const bool weights = kind.text() == "weights";
  if (!weights && kind.text() != "random") kind.fail("is neither random nor weights");
  return {.kind = weights ? storage::ContentKind::kWeights : storage::ContentKind::kRandom,
          .compressible_fraction = content["compressible_fraction"].fraction(),
          .duplicate_fraction = content["duplicate_fraction"].fraction()};
}

torch::ArchiveOptions archive_of(const StrictValue& manifest) {
  const StrictValue dialect = manifest["torch_dialect"];
  const bool current = dialect.text() == "current";
  if (!current && dialect.text() != "1.13") dialect.fail("is neither current nor 1.13");
  const StrictValue alignment = manifest["alignment_bytes"];
  const std::uint64_t alignment_bytes = alignment.count(64, 32768);
  if (!std::has_single_bit(alignment_bytes)) alignment.fail("is not a power of two");
  return {.dialect = current ? torch::Dialect::kCurrent : torch::Dialect::kTorch113,
          .alignment_bytes = alignment_bytes};
}

torch::ScalarType type_of(const StrictValue& dtype) {
  for (const torch::ScalarType type :
       {torch::ScalarType::kBFloat16, torch::ScalarType::kFloat32, torch::ScalarType::kUInt8}) {
    if (dtype.text() == torch::short_name(type)) return type;
  }
  dtype.fail("is not bf16, fp32 or uint8");
}

// `payload_bytes`: of the file so far, to which the tensor's are added.
torch::TensorSpec tensor_of(const StrictValue& entry, std::uint64_t& payload_bytes) {
  entry.require_members({"key", "dtype", "shape"});
  torch::TensorSpec tensor{.type = type_of(entry["dtype"]), .shape = {}};
  const StrictValue shape = entry["shape"];
  if (shape.size() > kMostDimensions) shape.fail(fmt::format("has more than {} dimensions", kMostDimensions));
  std::uint64_t bytes = torch::size_bytes(tensor.type);
  bool overflows = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    tensor.shape.push_back(
        static_cast<std::int64_t>(shape[i].count(0, std::numeric_limits<std::int64_t>::max())));
    overflows |= __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(tensor.shape.back()), &bytes);
  }
  overflows |= __builtin_add_overflow(payload_bytes, bytes, &payload_bytes);
  if (overflows || payload_bytes > kMostPayloadBytes) shape.fail("is of more bytes than a file can hold");
  return tensor;
}

torch::Entry entry_of(const StrictValue& entry, std::uint64_t& payload_bytes) {
  torch::Entry result{.key = entry["key"].text(kLongestKey), .value = {}};
  if (!entry.has("value")) {
    result.value = tensor_of(entry, payload_bytes);
    return result;
  }
  entry.require_members({"key", "value"});
  const StrictValue value = entry["value"];
  if (value.is_text()) {
    result.value = value.text(kLongestKey);
  } else {
    result.value = value.integer();
  }
  return result;
}

template <typename Element, typename Read, typename Name>
std::vector<Element> distinct(const StrictValue& array, Read read, Name name) {
  std::vector<Element> elements;
  std::set<std::string> names;
  elements.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    const StrictValue item = array[i];
    elements.push_back(read(item));
    if (!names.insert(name(elements.back())).second)
      item.fail(fmt::format("is a second {}", name(elements.back())));
  }
  return elements;
}

torch::RecordDigest record_of(const StrictValue& record) {
  record.require_members({"name", "offset", "bytes", "crc32"});
  return {.name = record["name"].text(),
          .payload_offset = record["offset"].count(),
          .bytes = record["bytes"].count(),
          .crc32 = record["crc32"].crc32()};
}

ManifestFile file_of(const StrictValue& file) {
  file.require_members({"name", "rank", "entries", "file_bytes", "crc32", "records"});
  check_file_name(file["name"]);
  ManifestFile result{.name = file["name"].text(),
                      .rank = static_cast<std::int64_t>(file["rank"].count(0, kMostRanks)),
                      .file_bytes = file["file_bytes"].count(),
                      .crc32 = file["crc32"].crc32(),
                      .records = {},
                      .spec = {}};
  result.records = distinct<torch::RecordDigest>(
      file["records"], record_of, [](const torch::RecordDigest& record) { return record.name; });
  result.spec.name = result.name;
  std::uint64_t payload_bytes = 0;
  result.spec.entries = distinct<torch::Entry>(
      file["entries"], [&](const StrictValue& entry) { return entry_of(entry, payload_bytes); },
      [](const torch::Entry& entry) { return entry.key; });
  return result;
}

void read_head(const StrictValue& manifest, Manifest& result) {
  check_run_name(manifest["name"]);
  result.name = manifest["name"].text();
  result.pass = static_cast<std::int64_t>(manifest["pass"].count(1, kMostPasses));
  result.warmup = manifest["warmup"].boolean();
  result.checkpoint = static_cast<std::int64_t>(manifest["checkpoint"].count(1, kMostCheckpoints));
  const StrictValue content = manifest["content"];
  result.content = content_of(content);
  result.seed = content["seed"].count();
  result.content_pass = content["pass"].count();
  if (result.content_pass != content_pass(result.pass, result.warmup))
    content["pass"].fail("is not the one that belongs to pass and warmup");
  result.archive = archive_of(manifest);
  result.synced = manifest["synced"].boolean();
  result.part.parts = manifest["parts"].count(1, kMostRanks);
  result.part.part = manifest["part"].count(1, result.part.parts);
}

}  // namespace

Manifest read_manifest(std::string_view text, const std::string& origin) {
  check_own_crc(text, origin);
  const nlohmann::json document = parse_strict_json(text, origin, kDeepest);
  const StrictValue manifest(document, origin);
  check_schema(manifest);
  manifest.require_members({"schema", "name", "pass", "warmup", "checkpoint", "content", "torch_dialect",
                            "alignment_bytes", "synced", "part", "parts", "files", "manifest_crc32"});
  Manifest result;
  read_head(manifest, result);
  if (manifest["manifest_crc32"].text() != text.substr(text.size() - kEnd.size() - kDigits, kDigits))
    manifest["manifest_crc32"].fail("is not the last member");
  result.files =
      distinct<ManifestFile>(manifest["files"], file_of, [](const ManifestFile& file) { return file.name; });
  return result;
}

}  // namespace ckptsim::simulator
