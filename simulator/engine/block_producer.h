#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage/target/target.h"
#include "storage/torch/archive_stream.h"

namespace ckptsim::simulator {

// The bytes of one file, in order. A simulated drive's source has a length and makes no bytes.
class FileSource {
 public:
  FileSource() = default;
  virtual ~FileSource() = default;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  // The next bytes; returns how many. Fewer than out.size(), also none, at the end and where the next ones
  // are not made yet: a call makes a step and returns, so that its caller can look after completions.
  virtual std::size_t read(std::span<std::byte> out) = 0;
  [[nodiscard]] virtual std::uint64_t file_bytes() const = 0;
  [[nodiscard]] virtual storage::torch::FileDigest digest() const = 0;  // after the last byte
};

// A piece of a file, ready to be written: `length` true bytes, zeros up to `padded_length`.
struct StagedBlock {
  std::size_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t padded_length = 0;
  bool last = false;
  storage::Buffer buffer;
};

// Makes a rank's files into aligned blocks, a small piece at a time so that its caller can look after
// completions in between, and ahead over file ends for as long as buffers are free. One thread.
class BlockProducer {
 public:
  // `open` makes the source of a file when its first byte is due, never before.
  BlockProducer(std::size_t files, std::function<std::unique_ptr<FileSource>(std::size_t)> open);

  // Makes up to kPieceBytes more. False: all is made, or no buffer is free.
  bool produce(storage::Target& target);

  // The oldest block that is ready, when it belongs to `file`.
  [[nodiscard]] std::optional<StagedBlock> take(std::size_t file);

  [[nodiscard]] std::vector<storage::torch::FileDigest>& digests() { return digests_; }

  // Small enough to stay in a core's second-level cache between making it and its CRC.
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

 private:
  void finish_block(std::uint64_t alignment);
  void finish_file();

  std::size_t files_;
  std::function<std::unique_ptr<FileSource>(std::size_t)> open_;
  std::size_t next_file_ = 0;
  std::unique_ptr<FileSource> source_;
  std::uint64_t source_position_ = 0;
  StagedBlock filling_;
  std::deque<StagedBlock> ready_;
  std::vector<storage::torch::FileDigest> digests_;
};

}  // namespace ckptsim::simulator
