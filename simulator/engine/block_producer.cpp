#include "simulator/engine/block_producer.h"

#include <algorithm>

namespace ckptsim::simulator {

BlockProducer::BlockProducer(std::size_t files, std::function<std::unique_ptr<FileSource>(std::size_t)> open)
    : files_(files), open_(std::move(open)) {
  digests_.reserve(files);
}

bool BlockProducer::produce(storage::Target& target) {
  if (next_file_ == files_) return false;
  if (!filling_.buffer.valid()) {
    filling_.buffer = target.take_buffer();
    if (!filling_.buffer.valid()) return false;
    filling_.file = next_file_;
    filling_.offset = source_position_;
    filling_.length = 0;
  }
  if (source_ == nullptr) source_ = open_(next_file_);

  const std::span<std::byte> room = filling_.buffer.bytes().subspan(filling_.length);
  const std::size_t made = source_->read(room.first(std::min(room.size(), kPieceBytes)));
  filling_.length += made;
  source_position_ += made;

  const bool file_ends = source_position_ == source_->file_bytes();
  if (file_ends || filling_.length == filling_.buffer.bytes().size()) {
    filling_.last = file_ends;
    finish_block(target.io_alignment());
  }
  if (file_ends) finish_file();
  return true;
}

void BlockProducer::finish_block(std::uint64_t alignment) {
  const std::uint64_t padded = (filling_.length + alignment - 1) / alignment * alignment;
  const std::span<std::byte> padding =
      filling_.buffer.bytes().subspan(filling_.length, padded - filling_.length);
  std::fill(padding.begin(), padding.end(), std::byte{0});
  filling_.padded_length = padded;
  ready_.push_back(std::move(filling_));
  filling_ = StagedBlock{};
}

void BlockProducer::finish_file() {
  digests_.push_back(source_->digest());
  source_.reset();
  source_position_ = 0;
  ++next_file_;
}

std::optional<StagedBlock> BlockProducer::take(std::size_t file) {
  if (ready_.empty() || ready_.front().file != file) return std::nullopt;
  StagedBlock block = std::move(ready_.front());
  ready_.pop_front();
  return block;
}

}  // namespace ckptsim::simulator
