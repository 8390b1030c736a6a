#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/libtorch/module_interface.h"
#include "storage/torch/archive_layout.h"
#include "storage/torch/archive_stream.h"

namespace ckptsim::storage::libtorch {

// The bytes of the largest tensor of a file: what a LibtorchStream's memory must hold.
[[nodiscard]] std::uint64_t largest_tensor_bytes(const torch::FileSpec& file);

// The same file as an ArchiveStream of dialect 1.13 makes, but by torch's own writer, which takes whole
// tensors: the content of each is made in `memory`, torch takes its CRC there and hands it on, and it is read
// from there. Zip headers, padding, CRCs and directory are torch's; names, order and pickle are this
// program's. One thread.
class LibtorchStream {
 public:
  // `module` and `memory` outlive the stream. Throws like ArchiveStream.
  LibtorchStream(const Module& module, const torch::FileSpec& file, std::uint64_t seed, std::uint64_t pass,
                 std::uint64_t checkpoint, std::span<std::byte> memory, const ContentSettings& content = {});
  LibtorchStream(const LibtorchStream&) = delete;
  LibtorchStream& operator=(const LibtorchStream&) = delete;

  // The next bytes of the file; returns how many. Fewer than out.size(), also none, where the next ones are
  // not made yet: a call makes a piece of a tensor's content, or has one record written. Throws FormatError
  // with the file's name when torch refuses, or puts a record elsewhere than was planned.
  std::size_t read(std::span<std::byte> out);

  // Times what is made from now on and adds it to `sample`: content and the copies of it, and torch's writing
  // of records, which is its CRC. Both outlive the stream.
  void sample(const Clock& clock, torch::MakingSample& sample);

  [[nodiscard]] std::uint64_t file_bytes() const { return layout_.file_bytes; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] bool finished() const { return position_ == file_bytes(); }

  // Only when finished (asserted).
  [[nodiscard]] const torch::FileDigest& digest() const;

 private:
  // Bytes that torch has handed over: of the record's payload, or a copy of what is around it.
  struct Piece {
    std::string copy;
    std::span<const std::byte> payload;
    [[nodiscard]] std::span<const std::byte> bytes() const {
      return payload.empty() ? std::as_bytes(std::span(copy)) : payload;
    }
  };

  void step();
  std::size_t copy_pieces(std::span<std::byte> out);
  [[nodiscard]] bool fill(const torch::TensorPayload& tensor, std::uint64_t bytes);
  void write_record(torch::RecordLayout& record);
  void take(std::span<const std::byte> bytes);
  void note_record(torch::RecordLayout& record);
  void note_file_crc(const torch::RecordLayout& record);
  void check_place(const torch::RecordLayout& record) const;
  [[nodiscard]] std::uint32_t crc_of_descriptor(const torch::RecordLayout& record) const;

  const Module& module_;
  std::string file_name_;
  std::vector<torch::TensorSpec> tensors_;
  ContentAddress address_;  // without file and tensor
  ContentSettings content_;
  std::span<std::byte> memory_;
  torch::ArchiveLayout layout_;
  torch::FileDigest digest_;
  std::size_t record_ = 0;              // to be written next
  std::uint64_t filled_ = 0;            // bytes of its tensor that are made
  std::uint64_t handed_ = 0;            // bytes of the file that torch has handed over
  std::uint64_t position_ = 0;          // bytes of the file that have been read
  std::span<const std::byte> payload_;  // of the record that torch is writing
  std::deque<Piece> pieces_;            // handed over and not yet read
  std::size_t piece_position_ = 0;
  std::unique_ptr<Writer> writer_;
  const Clock* clock_ = nullptr;
  torch::MakingSample* sample_ = nullptr;  // none: nothing is timed
};

}  // namespace ckptsim::storage::libtorch
