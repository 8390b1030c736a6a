#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/clock.h"
#include "storage/content/content.h"
#include "storage/torch/file_spec.h"

namespace ckptsim::storage::torch {

struct RecordDigest {
  std::string name;                  // "data/0"
  std::uint64_t payload_offset = 0;  // in the file
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;  // zip's (IEEE)
};

// What a finished stream knows of its file, for the manifest.
struct FileDigest {
  std::uint64_t file_bytes = 0;
  std::uint32_t crc32 = 0;  // of the whole file
  std::vector<RecordDigest> records;
};

// Sizes of a file without making a byte of it.
[[nodiscard]] std::uint64_t archive_bytes(const FileSpec& file, const ArchiveOptions& options);
[[nodiscard]] std::uint64_t payload_bytes(const FileSpec& file);  // tensor bytes only

// How the making of content divides between its bytes and their CRC, from some of its chunks.
struct MakingSample {
  std::int64_t content_ns = 0;
  std::int64_t crc_ns = 0;
};

// Produces a torch.save file from its first byte to its last, in pieces of any size, computing CRCs as the
// bytes go by. Holds the pickle and the directory (kilobytes to a few megabytes), never a tensor. The bytes
// do not depend on the sizes of the pieces. One thread.
class ArchiveStream {
 public:
  // The content of every tensor is Content({seed, pass, checkpoint, file.name, number}, content, ...), its
  // place among the file's blocks being that in file order. Throws std::invalid_argument for a dict of one
  // entry or a bad alignment.
  ArchiveStream(const FileSpec& file, const ArchiveOptions& options, std::uint64_t seed, std::uint64_t pass,
                std::uint64_t checkpoint, const ContentSettings& content = {});
  ~ArchiveStream();
  ArchiveStream(ArchiveStream&&) noexcept;
  ArchiveStream& operator=(ArchiveStream&&) noexcept;

  // Times some of the chunks from now on and adds them to `sample`; both outlive the stream.
  void sample(const Clock& clock, MakingSample& sample);

  // The next bytes of the file; returns how many, less than out.size() only at the end of the file.
  std::size_t read(std::span<std::byte> out);

  [[nodiscard]] std::uint64_t file_bytes() const;
  [[nodiscard]] std::uint64_t position() const;
  [[nodiscard]] bool finished() const { return position() == file_bytes(); }

  // Only when finished (asserted).
  [[nodiscard]] const FileDigest& digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ckptsim::storage::torch
