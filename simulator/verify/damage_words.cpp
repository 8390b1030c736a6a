#include "simulator/verify/damage_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "storage/torch/crc32.h"
#include "storage/torch/little_endian.h"

namespace ckptsim::simulator {
namespace {

namespace torch = storage::torch;

// The keys of a file's tensors in order of first use in its pickle.
std::vector<std::string> tensor_keys(const torch::FileSpec& spec) {
  std::vector<std::string> keys;
  for (const torch::Entry& entry : spec.entries) {
    if (std::holds_alternative<torch::TensorSpec>(entry.value)) keys.push_back(entry.key);
  }
  return keys;
}

// What the file on the drive holds of one record: the CRC of its payload, and the one its descriptor says.
struct RecordAsRead {
  std::uint32_t crc32 = 0;
  std::string descriptor;
  [[nodiscard]] std::string stored() const {
    constexpr std::size_t kCrcAt = 4;  // behind the signature
    if (descriptor.size() < kCrcAt + sizeof(std::uint32_t)) return "nothing";
    return fmt::format("{:08x}", torch::load_little_endian<std::uint32_t>(descriptor, kCrcAt));
  }
};

// The part of a stretch that is within [begin, end).
std::span<const std::byte> within(const ReadStretch& stretch, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t stretch_end = stretch.offset + stretch.bytes.size();
  const std::uint64_t from = std::max(begin, stretch.offset);
  const std::uint64_t to = std::min(end, stretch_end);
  return from < to ? stretch.bytes.subspan(from - stretch.offset, to - from) : std::span<const std::byte>{};
}

std::map<std::size_t, RecordAsRead> read_records(const torch::ArchiveLayout& layout,
                                                 const std::set<std::size_t>& wanted,
                                                 const ReadAgain& read_again) {
  std::map<std::size_t, RecordAsRead> records;
  for (const std::size_t index : wanted)
    records[index];
  read_again([&](const ReadStretch& stretch) {
    for (auto& [index, record] : records) {
      const torch::RecordLayout& at = layout.records[index];
      const std::uint64_t end = at.payload_offset + at.entry.bytes;
      record.crc32 = torch::crc32(record.crc32, within(stretch, at.payload_offset, end));
      for (const std::byte byte : within(stretch, end, end + torch::descriptor_bytes(at.entry)))
        record.descriptor.push_back(static_cast<char>(byte));
    }
  });
  return records;
}

std::string payload_words(const RecordAsRead& read, std::uint32_t listed, std::uint32_t made) {
  const std::string stored = read.stored();
  const std::string stored_words =
      stored == fmt::format("{:08x}", read.crc32)
          ? std::string("the file's own CRC is that of its bytes")
          : fmt::format("the file's own CRC ({}) is not that of its bytes ({:08x})", stored, read.crc32);
  if (read.crc32 == listed) {
    return fmt::format("{}, and so is the manifest's, but the seed makes other bytes (CRC {:08x})",
                       stored_words, made);
  }
  return fmt::format("{}, the manifest's is {:08x}{}", stored_words, listed,
                     listed == made ? "" : fmt::format(", and the seed makes bytes with {:08x}", made));
}

Finding of_range(const ManifestFile& file, const torch::ArchiveLayout& layout,
                 const std::vector<std::string>& keys, const DifferentRange& range) {
  Finding finding;
  finding.kind = "bytes";
  finding.file = file.name;
  finding.offset = range.begin;
  finding.bytes = range.end - range.begin;
  finding.wrong_bytes = range.wrong_bytes;
  finding.part = torch::name(range.place.part);
  if (range.place.record) finding.record = layout.records[*range.place.record].name;
  if (range.place.tensor) {
    finding.tensor = keys.at(*range.place.tensor);
    finding.tensor_offset = range.begin - range.place.begin;
  }
  return finding;
}

Finding of_crc(const ManifestFile& file, const std::string& record, std::uint32_t listed,
               std::uint32_t made) {
  Finding finding;
  finding.kind = "crc";
  finding.file = file.name;
  finding.record = record;
  finding.words =
      fmt::format("{} CRC in the manifest is {:08x}, and that of its bytes, which are right, {:08x}",
                  record.empty() ? std::string("its") : fmt::format("record {}'s", record), listed, made);
  return finding;
}

// Of bytes that are all right.
std::vector<Finding> wrong_crcs(const ManifestFile& file, const torch::FileDigest& made) {
  std::vector<Finding> findings;
  if (file.crc32 != made.crc32) findings.push_back(of_crc(file, "", file.crc32, made.crc32));
  for (std::size_t i = 0; i < made.records.size(); ++i) {
    if (file.records[i].crc32 != made.records[i].crc32)
      findings.push_back(of_crc(file, made.records[i].name, file.records[i].crc32, made.records[i].crc32));
  }
  return findings;
}

}  // namespace

DamageReport describe_damage(const ManifestFile& file, const torch::ArchiveLayout& layout,
                             const torch::FileDigest* made, const DifferenceFinder& differences,
                             const ReadAgain& read_again) {
  DamageReport report;
  report.wrong_bytes = differences.wrong_bytes();
  if (differences.ranges() == 0) {
    if (made != nullptr) report.findings = wrong_crcs(file, *made);
    return report;
  }
  const std::vector<std::string> keys = tensor_keys(file.spec);
  const std::vector<DifferentRange>& ranges = differences.first_ranges();
  report.more_ranges = differences.ranges() - ranges.size();
  std::set<std::size_t> payloads;
  for (const DifferentRange& range : ranges) {
    if (made != nullptr && range.place.part == torch::ArchivePart::kPayload)
      payloads.insert(*range.place.record);
  }
  std::map<std::size_t, RecordAsRead> records;
  if (!payloads.empty()) records = read_records(layout, payloads, read_again);
  for (const DifferentRange& range : ranges) {
    report.findings.push_back(of_range(file, layout, keys, range));
    if (made == nullptr || range.place.part != torch::ArchivePart::kPayload) continue;
    const std::size_t index = *range.place.record;
    report.findings.back().words =
        payload_words(records.at(index), file.records[index].crc32, made->records[index].crc32);
  }
  return report;
}

}  // namespace ckptsim::simulator
