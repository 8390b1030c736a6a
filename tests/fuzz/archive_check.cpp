#include <algorithm>
#include <cstdint>
#include <string_view>

#include "storage/errors.h"
#include "storage/torch/archive_reader.h"
#include "storage/torch/archive_scan.h"
#include "tests/fuzz/archive_promises.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/memory_file.h"

namespace ckptsim::fuzz {
namespace {

namespace torch = storage::torch;

// The second way to check payloads, in a stream, must say what the first says.
bool scan_is_content(std::span<const std::byte> input) {
  constexpr std::size_t piece_bytes = 1000;
  const torch::WindowSource file("archive.pt", input.size(), 0,
                                 {reinterpret_cast<const char*>(input.data()), input.size()});
  const torch::ZipDirectory directory = torch::find_directory(file);
  torch::ArchiveScan scan("archive.pt", torch::read_directory(file, directory), directory.offset);
  try {
    for (std::size_t at = 0; at < input.size(); at += piece_bytes)
      scan.consume(input.subspan(at, std::min(piece_bytes, input.size() - at)));
  } catch (const storage::FormatError&) {
    return false;
  }
  return scan.complete();
}

}  // namespace

const MemoryLimit kMemoryLimit = {512, 262144 + 65536};  // payload_crc32() reads in pieces

bool check(std::span<const std::byte> input) {
  const MemoryFile file(input);
  try {
    const torch::ArchiveContents contents = torch::read_archive(file.path());
    require(contents.file_bytes == input.size(), "the file's size is the file's");
    require_sound_records(contents.records, input.size());
    require_sound_tensors(contents.tensors);
    const bool right = std::all_of(contents.records.begin(), contents.records.end(), [&](const auto& record) {
      return torch::payload_crc32(file.path(), record) == record.crc32;
    });
    require(scan_is_content(input) == right, "both ways to check payloads agree");
    return right;
  } catch (const storage::FormatError& error) {
    require_short_and_printable(error.what());
    return false;
  }
}

}  // namespace ckptsim::fuzz
