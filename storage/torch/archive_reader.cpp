#include "storage/torch/archive_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "storage/errors.h"
#include "storage/text/printable.h"
#include "storage/torch/crc32.h"
#include "storage/torch/input_file.h"
#include "storage/torch/pickle_reader.h"
#include "storage/torch/pickle_record.h"
#include "storage/torch/zip_reader.h"

namespace ckptsim::storage::torch {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} * 1024;

// Ordered, since names can be made up to collide in a hash.
using RecordsByName = std::map<std::string_view, const ArchiveRecord*>;

// read_pickle() knows offsets in the pickle, not the file's name.
PickleContents read_pickle_at(const ByteSource& file, const ArchiveRecord& record) {
  if (record.bytes > kMostPickleBytes) {
    file.fail(record.payload_offset,
              fmt::format("a pickle of {} bytes; at most {} are read", record.bytes, kMostPickleBytes));
  }
  const std::string pickle = file.read_string(record.payload_offset, record.bytes);
  try {
    return read_pickle(pickle);
  } catch (const FormatError& error) {
    file.fail(record.payload_offset, error.what());
  }
}

void check_storage(const ByteSource& file, const RecordsByName& records, const ArchiveTensor& tensor) {
  const std::string name = "data/" + tensor.storage_key;
  const auto found = records.find(name);
  if (found == records.end()) {
    file.fail(0, fmt::format("no record {} for the tensor '{}'", printable_beginning(name),
                             printable_beginning(tensor.name)));
  }
  const std::uint64_t element_bytes = storage_element_bytes(tensor.storage_class);
  const ArchiveRecord& record = *found->second;
  if (record.bytes % element_bytes != 0 || record.bytes / element_bytes != tensor.storage_elements) {
    file.fail(
        record.header_offset,
        fmt::format("{} has {} bytes, the tensor '{}' needs {} elements of {}", printable_beginning(name),
                    record.bytes, printable_beginning(tensor.name), tensor.storage_elements, element_bytes));
  }
}

}  // namespace

std::size_t pickle_record(const ByteSource& file, const std::vector<ArchiveRecord>& records) {
  const auto found = std::find_if(records.begin(), records.end(),
                                  [](const ArchiveRecord& record) { return record.name == "data.pkl"; });
  if (found == records.end()) {
    file.fail(0, "no record data.pkl: not written by torch.save");
  }
  return static_cast<std::size_t>(found - records.begin());
}

PickleContents read_pickle_record(const ByteSource& file, const std::vector<ArchiveRecord>& records,
                                  std::size_t pickle) {
  RecordsByName by_name;
  for (const ArchiveRecord& record : records) {
    by_name.emplace(record.name, &record);
  }
  PickleContents contents = read_pickle_at(file, records[pickle]);
  for (const ArchiveTensor& tensor : contents.tensors) {
    check_storage(file, by_name, tensor);
  }
  return contents;
}

ArchiveContents read_archive(const std::filesystem::path& path) {
  const InputFile file(path);
  ZipContents zip = read_zip(file);
  PickleContents pickle = read_pickle_record(file, zip.records, pickle_record(file, zip.records));
  return {file.size(), std::move(zip.root), std::move(zip.records), std::move(pickle.tensors),
          std::move(pickle.scalars)};
}

std::uint32_t payload_crc32(const std::filesystem::path& path, const ArchiveRecord& record) {
  const InputFile file(path);
  std::vector<std::byte> buffer(std::min<std::uint64_t>(record.bytes, kReadBytes));
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < record.bytes;) {
    const auto piece = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), record.bytes - done));
    file.read(record.payload_offset + done, piece);
    crc = crc32(crc, piece);
    done += piece.size();
  }
  return crc;
}

}  // namespace ckptsim::storage::torch
