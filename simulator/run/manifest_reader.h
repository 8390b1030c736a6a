#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/run/manifest.h"
#include "storage/content/content.h"
#include "storage/torch/archive_stream.h"
#include "storage/torch/file_spec.h"

namespace ckptsim::simulator {

struct ManifestFile {
  std::string name;  // directly in the checkpoint's folder, or in one folder below it: "FOLDER/FILE.pt"
  std::int64_t rank = 0;
  std::uint64_t file_bytes = 0;
  std::uint32_t crc32 = 0;
  std::vector<storage::torch::RecordDigest> records;
  storage::torch::FileSpec spec;  // what the file holds; of the same name
};

// A checkpoint, or one target's part of it, as its manifest describes it. With it every byte of the files can
// be made again: ArchiveStream(file.spec, archive, seed, content_pass, checkpoint, content).
struct Manifest {
  std::string name;  // the run's
  std::int64_t pass = 0;
  bool warmup = false;
  std::int64_t checkpoint = 0;
  std::uint64_t seed = 0;
  storage::ContentSettings content;
  std::uint64_t content_pass = 0;
  storage::torch::ArchiveOptions archive;
  bool synced = false;
  ManifestPart part;
  std::vector<ManifestFile> files;
};

// Reads a manifest that may have been damaged, or forged: it is taken only if its own CRC is right and every
// member is one that seal_manifest() could have written. Throws FormatError that begins with `origin`, names
// the member and says what is wrong; of a manifest of an earlier version, that a new run has to write it.
// Sizes within a file add up without overflow; whether records and entries agree is not looked at. Memory
// stays within a constant times the text.
[[nodiscard]] Manifest read_manifest(std::string_view text, const std::string& origin);

}  // namespace ckptsim::simulator
