#include "simulator/verify/other_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include "storage/torch/archive_stream.h"
#include "storage/torch/crc32.h"

namespace ckptsim::simulator {
namespace {

namespace torch = storage::torch;

// So many bytes of a tensor tell its content from any other's, so that few candidates are made whole.
constexpr std::uint64_t kTellingBytes = 64;
constexpr std::size_t kPieceBytes = std::size_t{256} * 1024;

// A checkpoint whose bytes the file may hold.
struct Origin {
  std::uint64_t content_pass = 0;
  std::uint64_t checkpoint = 0;
};

// What is on the drive: CRCs of the whole and of each tensor's record, and the first bytes of a tensor.
struct FoundContent {
  std::uint32_t crc32 = 0;
  std::vector<std::uint32_t> record_crc32;
  std::vector<std::byte> beginning;
  bool readable = true;
};

bool is_tensor(const torch::RecordLayout& record) {
  return std::holds_alternative<torch::TensorPayload>(record.payload) && record.entry.bytes > 0;
}

// The first record of a tensor that is long enough to be told from another.
const torch::RecordLayout* telling_record(const torch::ArchiveLayout& layout) {
  const auto found = std::find_if(layout.records.begin(), layout.records.end(), [](const auto& record) {
    return is_tensor(record) && record.entry.bytes >= kTellingBytes;
  });
  return found == layout.records.end() ? nullptr : &*found;
}

FoundContent read_found(const torch::ArchiveLayout& layout, const ReadAgain& read_whole) {
  FoundContent found;
  found.record_crc32.resize(layout.records.size());
  const torch::RecordLayout* const telling = telling_record(layout);
  read_whole([&](const ReadStretch& stretch) {
    if (stretch.error || stretch.bytes.size() < stretch.asked) found.readable = false;
    found.crc32 = torch::crc32(found.crc32, stretch.bytes);
    for (std::size_t i = 0; i < layout.records.size(); ++i) {
      const torch::RecordLayout& record = layout.records[i];
      const std::uint64_t begin = record.payload_offset;
      if (is_tensor(record))
        found.record_crc32[i] =
            torch::crc32(found.record_crc32[i], within(stretch, begin, begin + record.entry.bytes));
      if (&record != telling) continue;
      const auto first = within(stretch, begin, begin + kTellingBytes);
      found.beginning.insert(found.beginning.end(), first.begin(), first.end());
    }
  });
  return found;
}

// The passes before, and the other checkpoints of this pass, as far as anybody would look.
std::vector<Origin> origins(const Manifest& manifest) {
  constexpr std::uint64_t kMostPasses = 8;
  constexpr std::uint64_t kMostCheckpoints = 8;
  const auto checkpoint = static_cast<std::uint64_t>(manifest.checkpoint);
  const std::uint64_t earlier = static_cast<std::uint64_t>(manifest.pass) - 1;
  std::vector<Origin> all;
  for (std::uint64_t back = 1; back <= std::min(earlier, kMostPasses); ++back)
    all.push_back({manifest.content_pass - back, checkpoint});
  const std::uint64_t first = checkpoint > kMostCheckpoints ? checkpoint - kMostCheckpoints : 1;
  for (std::uint64_t other = first; other <= checkpoint + kMostCheckpoints; ++other) {
    if (other != checkpoint) all.push_back({manifest.content_pass, other});
  }
  return all;
}

// Whether the file of that checkpoint has the tensors that were found. What is no tensor, as the iteration in
// the pickle, differs from checkpoint to checkpoint.
bool wrote(const Origin& origin, const ManifestFile& file, const Manifest& manifest,
           const torch::ArchiveLayout& layout, const FoundContent& found) {
  torch::ArchiveStream stream(file.spec, manifest.archive, manifest.seed, origin.content_pass,
                              origin.checkpoint, manifest.content);
  const torch::RecordLayout& telling = *telling_record(layout);
  std::vector<std::byte> bytes(telling.payload_offset + kTellingBytes);
  (void)stream.read(bytes);
  if (!std::equal(found.beginning.begin(), found.beginning.end(), bytes.end() - kTellingBytes)) return false;
  bytes.resize(kPieceBytes);
  while (!stream.finished())
    (void)stream.read(bytes);
  const std::vector<torch::RecordDigest>& made = stream.digest().records;
  for (std::size_t i = 0; i < layout.records.size(); ++i) {
    if (is_tensor(layout.records[i]) && made[i].crc32 != found.record_crc32[i]) return false;
  }
  return true;
}

std::string words_of(const Origin& origin, const Manifest& manifest) {
  const std::uint64_t back = manifest.content_pass - origin.content_pass;
  return fmt::format("holds what {} {}, checkpoint {} wrote in it", manifest.warmup ? "warm-up pass" : "pass",
                     static_cast<std::uint64_t>(manifest.pass) - back, origin.checkpoint);
}

}  // namespace

std::optional<std::string> find_other_content(const ManifestFile& file, const Manifest& manifest,
                                              const torch::ArchiveLayout& layout, std::uint64_t found_bytes,
                                              const ReadAgain& read_whole) {
  const FoundContent found = read_found(layout, read_whole);
  if (!found.readable) return std::nullopt;
  for (const ManifestFile& other : manifest.files) {
    if (other.name != file.name && other.file_bytes == found_bytes && other.crc32 == found.crc32)
      return fmt::format("holds the content of {}", other.name);
  }
  if (found.beginning.size() < kTellingBytes || found_bytes != layout.file_bytes) return std::nullopt;
  for (const Origin& origin : origins(manifest)) {
    if (wrote(origin, file, manifest, layout, found)) return words_of(origin, manifest);
  }
  return std::nullopt;
}

}  // namespace ckptsim::simulator
