#include "storage/libtorch/libtorch_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "storage/content/content.h"
#include "storage/errors.h"
#include "storage/target/check.h"
#include "storage/torch/crc32.h"
#include "storage/torch/little_endian.h"

namespace ckptsim::storage::libtorch {
namespace {

// As much content as one call makes: a multiple of the content's blocks, and short, so that the caller sees
// its completions.
constexpr std::uint64_t kFillBytes = std::uint64_t{256} << 10;
constexpr std::uint64_t kDescriptorCrcOffset = 4;  // behind the descriptor's signature

constexpr torch::ArchiveOptions kOptions{.dialect = torch::Dialect::kTorch113, .alignment_bytes = 64};

// In order of first use, which is what TensorPayload counts in.
std::vector<torch::TensorSpec> tensors_of(const torch::FileSpec& file) {
  std::vector<torch::TensorSpec> tensors;
  for (const torch::Entry& entry : file.entries) {
    if (const auto* tensor = std::get_if<torch::TensorSpec>(&entry.value)) tensors.push_back(*tensor);
  }
  return tensors;
}

bool lies_in(std::span<const std::byte> part, std::span<const std::byte> whole) {
  const std::less_equal<> no_later;  // a total order over unrelated memory
  return no_later(whole.data(), part.data()) &&
         no_later(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace

std::uint64_t largest_tensor_bytes(const torch::FileSpec& file) {
  std::uint64_t largest = 0;
  for (const torch::TensorSpec& tensor : tensors_of(file))
    largest = std::max(largest, size_bytes(tensor));
  return largest;
}

LibtorchStream::LibtorchStream(const Module& module, const torch::FileSpec& file, std::uint64_t seed,
                               std::uint64_t pass, std::uint64_t checkpoint, std::span<std::byte> memory,
                               const ContentSettings& content)
    : module_(module),
      file_name_(file.name),
      tensors_(tensors_of(file)),
      address_{seed, pass, checkpoint, {}, 0},
      content_(content),
      memory_(memory),
      layout_(torch::lay_out_archive(file, kOptions)),
      writer_(module.make_writer(layout_.root, [this](std::span<const std::byte> bytes) { take(bytes); })) {
  check(largest_tensor_bytes(file) <= memory.size(), "the memory holds the largest tensor of the file");
  check(layout_.records.back().name == "version",
        "torch writes the record version by itself, as the last one");
  digest_.records.reserve(layout_.records.size());
}

std::size_t LibtorchStream::read(std::span<std::byte> out) {
  const Clock::Time start = sample_ == nullptr ? Clock::Time{} : clock_->now();
  const std::int64_t crc_before = sample_ == nullptr ? 0 : sample_->crc_ns;
  if (pieces_.empty() && record_ < layout_.records.size()) step();
  const std::size_t copied = copy_pieces(out);
  if (sample_ != nullptr) {
    sample_->content_ns += (clock_->now() - start).count() - (sample_->crc_ns - crc_before);
  }
  return copied;
}

void LibtorchStream::sample(const Clock& clock, torch::MakingSample& sample) {
  clock_ = &clock;
  sample_ = &sample;
}

std::size_t LibtorchStream::copy_pieces(std::span<std::byte> out) {
  std::size_t copied = 0;
  while (copied < out.size() && !pieces_.empty()) {
    const std::span<const std::byte> rest = pieces_.front().bytes().subspan(piece_position_);
    const std::size_t bytes = std::min(rest.size(), out.size() - copied);
    std::memcpy(out.data() + copied, rest.data(), bytes);
    copied += bytes;
    piece_position_ += bytes;
    if (bytes < rest.size()) break;
    pieces_.pop_front();
    piece_position_ = 0;
  }
  position_ += copied;
  return copied;
}

// A piece of the next tensor's content, or the next record. The memory is free: all that was handed over has
// been read.
void LibtorchStream::step() {
  torch::RecordLayout& record = layout_.records[record_];
  if (const auto* tensor = std::get_if<torch::TensorPayload>(&record.payload)) {
    if (!fill(*tensor, record.entry.bytes)) return;
  }
  const Clock::Time start = sample_ == nullptr ? Clock::Time{} : clock_->now();
  try {
    write_record(record);
  } catch (const std::runtime_error& error) {
    throw FormatError(fmt::format("{}: LibTorch {} cannot write the record {}: {}", file_name_,
                                  module_.torch_version, record.name, error.what()));
  }
  if (sample_ != nullptr) sample_->crc_ns += (clock_->now() - start).count();
  check_place(record);
  note_record(record);
  ++record_;
  filled_ = 0;
}

// True once the whole tensor is made.
bool LibtorchStream::fill(const torch::TensorPayload& tensor, std::uint64_t bytes) {
  if (filled_ == bytes) return true;
  ContentAddress full = address_;
  full.file = file_name_;
  full.tensor = tensor.tensor;
  const std::uint64_t piece = std::min(kFillBytes, bytes - filled_);
  Content(full, content_, tensor.content).fill(filled_, memory_.subspan(filled_, piece));
  filled_ += piece;
  return false;  // torch's CRC of the whole comes next, in a call of its own
}

void LibtorchStream::write_record(torch::RecordLayout& record) {
  if (record_ + 1 == layout_.records.size()) {
    payload_ = {};
    writer_->finish();
  } else if (const auto* tensor = std::get_if<torch::TensorPayload>(&record.payload)) {
    const std::span<std::byte> bytes = memory_.first(record.entry.bytes);
    payload_ = bytes;
    writer_->write_tensor(record.name, tensors_.at(tensor->tensor), bytes);
  } else {
    const auto& text = std::get<std::string>(record.payload);
    payload_ = std::as_bytes(std::span(text));
    writer_->write_bytes(record.name, text);
  }
}

void LibtorchStream::take(std::span<const std::byte> bytes) {
  handed_ += bytes.size();
  if (bytes.empty()) return;
  if (lies_in(bytes, payload_)) {
    pieces_.push_back({.copy = {}, .payload = bytes});
    return;
  }
  if (pieces_.empty() || !pieces_.back().payload.empty()) pieces_.emplace_back();
  pieces_.back().copy.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void LibtorchStream::check_place(const torch::RecordLayout& record) const {
  const bool last = record_ + 1 == layout_.records.size();
  const std::uint64_t planned =
      last ? layout_.file_bytes : record.payload_offset + record.entry.bytes + descriptor_bytes(record.entry);
  if (handed_ == planned) return;
  throw FormatError(fmt::format(
      "{}: LibTorch {} ends the record {} at byte {}, where this program planned byte {}; the two do "
      "not belong together: use the serializer stream",
      file_name_, module_.torch_version, record.name, handed_, planned));
}

// Everything but the bytes around the payloads has its CRC from torch: no pass over a tensor for it.
void LibtorchStream::note_record(torch::RecordLayout& record) {
  record.entry.crc32 = crc_of_descriptor(record);
  digest_.records.push_back({record.name, record.payload_offset, record.entry.bytes, record.entry.crc32});
  note_file_crc(record);
  digest_.file_bytes = handed_;
}

void LibtorchStream::note_file_crc(const torch::RecordLayout& record) {
  std::uint64_t payload_bytes = 0;
  for (const Piece& piece : pieces_) {
    if (piece.payload.empty()) {
      digest_.crc32 = torch::crc32(digest_.crc32, piece.bytes());
      continue;
    }
    if (payload_bytes == 0) {
      digest_.crc32 = torch::crc32_combine(digest_.crc32, record.entry.crc32, record.entry.bytes);
    }
    payload_bytes += piece.payload.size();
  }
  if (payload_bytes == payload_.size()) return;
  throw FormatError(fmt::format("{}: LibTorch {} handed on {} of {} bytes of the record {}", file_name_,
                                module_.torch_version, payload_bytes, payload_.size(), record.name));
}

// The descriptor that torch wrote behind the payload; an empty record has none.
std::uint32_t LibtorchStream::crc_of_descriptor(const torch::RecordLayout& record) const {
  if (record.entry.bytes == 0) return 0;
  const std::uint64_t wanted = record.payload_offset + record.entry.bytes + kDescriptorCrcOffset;
  std::uint64_t begin = position_;  // the pieces at hand are all of this record
  for (const Piece& piece : pieces_) {
    const std::uint64_t end = begin + piece.bytes().size();
    if (wanted >= begin && wanted + sizeof(std::uint32_t) <= end) {
      return torch::load_little_endian<std::uint32_t>(piece.copy, wanted - begin);
    }
    begin = end;
  }
  throw FormatError(fmt::format("{}: LibTorch {} wrote no CRC behind the record {}", file_name_,
                                module_.torch_version, record.name));
}

const torch::FileDigest& LibtorchStream::digest() const {
  check(finished(), "a digest is known at the end of its file");
  return digest_;
}

}  // namespace ckptsim::storage::libtorch
