#include "storage/torch/archive_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "storage/content/block_generator.h"
#include "storage/torch/pickle_writer.h"
#include "storage/torch/value_kind.h"

namespace ckptsim::storage::torch {
namespace {

constexpr std::size_t kLongestRoot = 255;  // a file name on Linux

void check_alignment(std::uint64_t alignment_bytes) {
  if (!std::has_single_bit(alignment_bytes) || alignment_bytes < 64 || alignment_bytes > 32768) {
    throw std::invalid_argument(
        fmt::format("an alignment of {} bytes; it must be a power of two from 64 to 32768", alignment_bytes));
  }
}

std::string root_folder(const std::string& file_name) {
  std::string root = file_name.substr(0, file_name.rfind('.'));
  if (root.empty() || root.size() > kLongestRoot || file_name.find_first_of("/\\") != std::string::npos) {
    throw std::invalid_argument(fmt::format("'{}' is not the name of an archive", file_name));
  }
  return root;
}

class LayoutBuilder {
 public:
  LayoutBuilder(std::string root, std::uint64_t alignment_bytes) : alignment_bytes_(alignment_bytes) {
    layout_.root = std::move(root);
  }

  void add_text(const std::string& name, std::string text) {
    const std::uint64_t bytes = text.size();
    add(name, bytes, std::move(text));
  }
  void add_tensor(std::uint64_t number, ContentTensor content) {
    content.first_block = whole_blocks_;
    whole_blocks_ += content.bytes / kContentBlockBytes;
    add(fmt::format("data/{}", number), content.bytes, TensorPayload{number, content});
  }
  void add_serialization_id() {
    add(".data/serialization_id", kSerializationIdBytes, SerializationIdPayload{});
  }

  [[nodiscard]] ArchiveLayout finish() {
    layout_.directory.offset = position_;
    layout_.directory.entries = layout_.records.size();
    for (const RecordLayout& record : layout_.records) {
      layout_.directory.bytes += directory_entry_bytes(record.entry);
    }
    layout_.file_bytes = position_ + layout_.directory.bytes + kTailBytes;
    return std::move(layout_);
  }

 private:
  template <typename Payload>
  void add(const std::string& name, std::uint64_t bytes, Payload payload) {
    RecordLayout record;
    record.name = name;
    record.entry = {fmt::format("{}/{}", layout_.root, name), position_, bytes, 0};
    record.payload_offset = position_ + local_header_bytes(record.entry, alignment_bytes_);
    record.payload = std::move(payload);
    position_ = record.payload_offset + bytes + descriptor_bytes(record.entry);
    layout_.records.push_back(std::move(record));
  }

  std::uint64_t alignment_bytes_;
  std::uint64_t position_ = 0;
  std::uint64_t whole_blocks_ = 0;  // of the tensors so far
  ArchiveLayout layout_;
};

std::vector<ContentTensor> tensor_contents(const FileSpec& file) {
  std::vector<ContentTensor> contents;
  for (const Entry& entry : file.entries) {
    if (const auto* tensor = std::get_if<TensorSpec>(&entry.value)) {
      contents.push_back({value_kind(entry.key, tensor->type), size_bytes(*tensor), 0});
    }
  }
  return contents;
}

// torch 1.13 sorts the storage keys as strings: 0, 1, 10, 11, 2.
std::vector<std::uint64_t> record_order(std::size_t tensors, Dialect dialect) {
  std::vector<std::uint64_t> order(tensors);
  for (std::size_t i = 0; i < tensors; ++i) {
    order[i] = i;
  }
  if (dialect == Dialect::kTorch113) {
    std::sort(order.begin(), order.end(), [](std::uint64_t left, std::uint64_t right) {
      return std::to_string(left) < std::to_string(right);
    });
  }
  return order;
}

}  // namespace

ArchiveLayout lay_out_archive(const FileSpec& file, const ArchiveOptions& options) {
  check_alignment(options.alignment_bytes);
  const bool current = options.dialect == Dialect::kCurrent;
  LayoutBuilder builder(root_folder(file.name), options.alignment_bytes);
  builder.add_text("data.pkl", write_pickle(file));
  if (current) {
    builder.add_text(".format_version", "1");
    builder.add_text(".storage_alignment", std::to_string(options.alignment_bytes));
    builder.add_text("byteorder", "little");
  }
  const std::vector<ContentTensor> contents = tensor_contents(file);
  for (const std::uint64_t number : record_order(contents.size(), options.dialect)) {
    builder.add_tensor(number, contents[number]);
  }
  builder.add_text("version", "3\n");
  if (current) {
    builder.add_serialization_id();
  }
  return builder.finish();
}

}  // namespace ckptsim::storage::torch
