// A checkpoint's manifest, once with the CRC that it comes with and once with the right one: behind a wrong
// one nothing else of it is read.
#include <stdexcept>
#include <string>
#include <string_view>

#include "simulator/run/manifest_reader.h"
#include "storage/errors.h"
#include "storage/torch/archive_layout.h"
#include "tests/fuzz/check.h"
#include "tests/simulator/run/manifest_example.h"

namespace ckptsim::fuzz {
namespace {

// What is held against a file is laid out from its entries.
void require_sound_layout(storage::torch::FileSpec spec, const storage::torch::ArchiveOptions& options) {
  spec.name = spec.name.substr(spec.name.rfind('/') + 1);
  std::uint64_t end = 0;
  try {
    for (const storage::torch::RecordLayout& record :
         storage::torch::lay_out_archive(spec, options).records) {
      require(record.payload_offset > end, "records follow each other");
      end = record.payload_offset + record.entry.bytes;
      require(end >= record.payload_offset, "a record's end is behind its beginning");
    }
  } catch (const std::invalid_argument&) {
    return;  // entries that no torch file can hold
  }
}

void require_sound_manifest(const simulator::Manifest& manifest) {
  for (const simulator::ManifestFile& file : manifest.files) {
    require(
        file.name.find("..") != 0 && file.name.find("/.") == std::string::npos && file.name.front() != '/',
        "a file's name leads nowhere else");
    require_sound_layout(file.spec, manifest.archive);
  }
}

bool is_sound_text(std::string_view text) {
  try {
    require_sound_manifest(simulator::read_manifest(text, "manifest.json"));
    return true;
  } catch (const storage::FormatError& error) {
    require_short(error.what());
    return false;
  }
}

}  // namespace

const MemoryLimit kMemoryLimit = {1024, 1 << 20};

bool check(std::span<const std::byte> input) {
  constexpr std::size_t shortest = 12;  // the CRC's digits and what follows them
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  const bool as_it_is = is_sound_text(text);
  return text.size() < shortest ? as_it_is : is_sound_text(simulator::resealed(text));
}

}  // namespace ckptsim::fuzz
