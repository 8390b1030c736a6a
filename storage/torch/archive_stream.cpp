#include "storage/torch/archive_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "storage/torch/archive_layout.h"
#include "storage/torch/crc32.h"
#include "storage/torch/serialization_id.h"

namespace ckptsim::storage::torch {
namespace {

// Content is made and its CRC taken while it is still in the first-level cache (docs/performance.md).
constexpr std::size_t kChunkBytes = std::size_t{8} * 1024;
constexpr std::size_t kContentAlignment = 4096;  // whole content blocks are made in place

// Reading the clock takes a tenth of the time that a chunk does: one chunk in so many is timed.
constexpr std::uint64_t kChunksPerSample = 17;

}  // namespace

// The file is a row of pieces: of each record its header, payload and descriptor, then the directory. A piece
// is made when the one before it has been read, because descriptors and directory hold the CRCs of the
// payloads.
struct ArchiveStream::State {
  enum class Part { kHeader, kPayload, kDescriptor, kDirectory, kEnd };

  State(const FileSpec& file, const ArchiveOptions& options, std::uint64_t seed, std::uint64_t pass,
        std::uint64_t checkpoint, const ContentSettings& content_settings)
      : file_name(file.name),
        address{seed, pass, checkpoint, {}, 0},
        settings(content_settings),
        alignment_bytes(options.alignment_bytes),
        layout(lay_out_archive(file, options)) {
    digest.records.reserve(layout.records.size());
    begin(Part::kHeader);
  }

  std::size_t read(std::span<std::byte> out);

  void begin(Part next);
  void begin_payload();
  void finish_piece();
  void finish_payload();
  [[nodiscard]] std::size_t read_piece(std::span<std::byte> out);
  [[nodiscard]] std::size_t read_content(std::span<std::byte> out);
  void make_content(std::span<std::byte> out);
  [[nodiscard]] std::string directory() const;

  std::string file_name;
  ContentAddress address;  // without file and tensor: a view of file_name would not survive a move
  ContentSettings settings;
  std::uint64_t alignment_bytes;
  ArchiveLayout layout;
  FileDigest digest;
  std::uint64_t position = 0;

  // The piece that is being read: `text` from memory, or the content of a tensor.
  Part part = Part::kEnd;
  std::size_t record_index = 0;
  bool is_content = false;
  Content content{ContentAddress{}};
  std::string text;
  std::uint64_t piece_bytes = 0;
  std::uint64_t piece_position = 0;
  std::uint32_t piece_crc32 = 0;

  const Clock* sampling_clock = nullptr;
  MakingSample* sample = nullptr;
  std::uint64_t chunks = 0;
};

std::size_t ArchiveStream::State::read(std::span<std::byte> out) {
  const std::size_t asked = out.size();
  while (!out.empty() && part != Part::kEnd) {
    const std::size_t bytes = read_piece(out);
    position += bytes;
    piece_position += bytes;
    out = out.subspan(bytes);
    while (part != Part::kEnd && piece_position == piece_bytes) {
      finish_piece();
    }
  }
  return asked - out.size();
}

std::size_t ArchiveStream::State::read_piece(std::span<std::byte> out) {
  if (is_content) {
    return read_content(out);
  }
  const std::size_t bytes = std::min<std::uint64_t>(out.size(), piece_bytes - piece_position);
  std::memcpy(out.data(), text.data() + piece_position, bytes);
  piece_crc32 = crc32(piece_crc32, out.first(bytes));
  return bytes;
}

std::size_t ArchiveStream::State::read_content(std::span<std::byte> out) {
  const std::uint64_t chunk = kChunkBytes - piece_position % kContentAlignment;
  const std::size_t bytes = std::min({std::uint64_t{out.size()}, piece_bytes - piece_position, chunk});
  make_content(out.first(bytes));
  return bytes;
}

void ArchiveStream::State::make_content(std::span<std::byte> out) {
  if (sample == nullptr || chunks++ % kChunksPerSample != 0) {
    content.fill(piece_position, out);
    piece_crc32 = crc32(piece_crc32, out);
    return;
  }
  const Clock::Time start = sampling_clock->now();
  content.fill(piece_position, out);
  const Clock::Time filled = sampling_clock->now();
  piece_crc32 = crc32(piece_crc32, out);
  sample->content_ns += (filled - start).count();
  sample->crc_ns += (sampling_clock->now() - filled).count();
}

void ArchiveStream::State::begin(Part next) {
  part = next;
  is_content = false;
  piece_position = 0;
  piece_crc32 = 0;
  text.clear();
  switch (part) {
    case Part::kHeader:
      text = encode_local_header(layout.records[record_index].entry, alignment_bytes);
      break;
    case Part::kPayload:
      begin_payload();
      return;
    case Part::kDescriptor:
      text = encode_descriptor(layout.records[record_index].entry);
      break;
    case Part::kDirectory:
      text = directory();
      break;
    case Part::kEnd:
      break;
  }
  piece_bytes = text.size();
}

void ArchiveStream::State::begin_payload() {
  RecordLayout& record = layout.records[record_index];
  piece_bytes = record.entry.bytes;
  if (const auto* tensor = std::get_if<TensorPayload>(&record.payload)) {
    ContentAddress full = address;
    full.file = file_name;
    full.tensor = tensor->tensor;
    content = Content(full, settings, tensor->content);
    is_content = true;
  } else if (auto* fixed = std::get_if<std::string>(&record.payload)) {
    text = std::move(*fixed);
  } else {
    text = serialization_id(digest.records);
  }
}

void ArchiveStream::State::finish_piece() {
  digest.crc32 = crc32_combine(digest.crc32, piece_crc32, piece_bytes);
  switch (part) {
    case Part::kHeader:
      begin(Part::kPayload);
      break;
    case Part::kPayload:
      finish_payload();
      begin(Part::kDescriptor);
      break;
    case Part::kDescriptor:
      ++record_index;
      begin(record_index < layout.records.size() ? Part::kHeader : Part::kDirectory);
      break;
    case Part::kDirectory:
      digest.file_bytes = position;
      begin(Part::kEnd);
      break;
    case Part::kEnd:
      break;
  }
}

void ArchiveStream::State::finish_payload() {
  RecordLayout& record = layout.records[record_index];
  record.entry.crc32 = piece_crc32;
  digest.records.push_back({record.name, record.payload_offset, record.entry.bytes, piece_crc32});
}

std::string ArchiveStream::State::directory() const {
  std::string bytes;
  bytes.reserve(layout.directory.bytes + kTailBytes);
  for (const RecordLayout& record : layout.records) {
    bytes += encode_directory_entry(record.entry);
  }
  return bytes + encode_tail(layout.directory);
}

std::uint64_t archive_bytes(const FileSpec& file, const ArchiveOptions& options) {
  return lay_out_archive(file, options).file_bytes;
}

std::uint64_t payload_bytes(const FileSpec& file) {
  std::uint64_t bytes = 0;
  for (const Entry& entry : file.entries) {
    if (const auto* tensor = std::get_if<TensorSpec>(&entry.value)) {
      bytes += size_bytes(*tensor);
    }
  }
  return bytes;
}

ArchiveStream::ArchiveStream(const FileSpec& file, const ArchiveOptions& options, std::uint64_t seed,
                             std::uint64_t pass, std::uint64_t checkpoint, const ContentSettings& content)
    : state_(std::make_unique<State>(file, options, seed, pass, checkpoint, content)) {}
ArchiveStream::~ArchiveStream() = default;
ArchiveStream::ArchiveStream(ArchiveStream&&) noexcept = default;
ArchiveStream& ArchiveStream::operator=(ArchiveStream&&) noexcept = default;

std::size_t ArchiveStream::read(std::span<std::byte> out) {
  return state_->read(out);
}

void ArchiveStream::sample(const Clock& clock, MakingSample& sample) {
  state_->sampling_clock = &clock;
  state_->sample = &sample;
}

std::uint64_t ArchiveStream::file_bytes() const {
  return state_->layout.file_bytes;
}

std::uint64_t ArchiveStream::position() const {
  return state_->position;
}

const FileDigest& ArchiveStream::digest() const {
  if (!finished()) {  // a broken invariant, checked in every build
    fmt::print(stderr, "ckptsim: ArchiveStream::digest() before the end of {}\n", state_->file_name);
    std::abort();
  }
  return state_->digest;
}

}  // namespace ckptsim::storage::torch
