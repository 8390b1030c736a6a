#include "tests/fuzz/archive_promises.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "storage/torch/pickle_reader.h"
#include "tests/fuzz/check.h"

namespace ckptsim::fuzz {

using storage::torch::ArchiveRecord;
using storage::torch::ArchiveTensor;

void require_sound_records(std::vector<ArchiveRecord> records, std::uint64_t file_bytes) {
  require(!records.empty(), "an archive has records");
  std::sort(records.begin(), records.end(), [](const ArchiveRecord& left, const ArchiveRecord& right) {
    return left.header_offset < right.header_offset;
  });
  std::unordered_set<std::string_view> names;
  std::uint64_t end = 0;
  for (const ArchiveRecord& record : records) {
    require(record.header_offset >= end, "a record begins behind the one before it");
    require(record.payload_offset > record.header_offset, "a payload lies behind its header");
    require(record.payload_offset <= file_bytes && record.bytes <= file_bytes - record.payload_offset,
            "a payload lies within the file");
    require(names.insert(record.name).second, "no record's name stands twice");
    end = record.payload_offset + record.bytes;
  }
}

void require_sound_tensors(const std::vector<ArchiveTensor>& tensors) {
  std::unordered_set<std::string_view> names;
  for (const ArchiveTensor& tensor : tensors) {
    require(names.insert(tensor.name).second, "no tensor's name stands twice");
    require(storage::torch::storage_element_bytes(tensor.storage_class) > 0, "a storage class is known");
    require(tensor.storage_offset <= tensor.storage_elements, "a tensor begins within its storage");
    require(
        std::all_of(tensor.shape.begin(), tensor.shape.end(), [](std::int64_t size) { return size >= 0; }),
        "no dimension is negative");
  }
}

}  // namespace ckptsim::fuzz
