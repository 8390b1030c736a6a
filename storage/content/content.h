#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "storage/content/values.h"

namespace ckptsim::storage {

// Where a tensor's bytes stand among all bytes this program ever writes.
struct ContentAddress {
  std::uint64_t seed = 1;
  std::uint64_t pass = 1;        // distinct for every pass of a run, warm-up passes included
  std::uint64_t checkpoint = 1;  // within the pass
  std::string_view file;         // the file's name in its checkpoint folder
  std::uint64_t tensor = 0;      // the tensor's number in its file, in order of first use
};

enum class ContentKind { kRandom, kWeights };

// What a run asks of its tensors' bytes (docs/content.md).
struct ContentSettings {
  ContentKind kind = ContentKind::kRandom;
  double compressible_fraction = 0;  // of the bytes: what `zstd -1` takes away
  double duplicate_fraction = 0;     // of the 4 KiB blocks: those that repeat another one of the run
};

// What a tensor's bytes depend on besides, where the settings are not the defaults.
struct ContentTensor {
  ValueKind values = ValueKind::kBytes;
  std::uint64_t bytes = 0;
  std::uint64_t first_block = 0;  // whole blocks of the tensors before it in its file
};

// Content that can be made again from its address: byte `offset` of a tensor is a pure function of (address,
// settings, tensor, offset), the same on every machine and instruction set. Unless duplicates are asked for,
// no 4 KiB block repeats; unless weights or compressible bytes are, nothing compresses.
class Content {
 public:
  // Random bytes.
  explicit Content(const ContentAddress& address);
  Content(const ContentAddress& address, const ContentSettings& settings, const ContentTensor& tensor);

  // Fills `out` with the tensor's bytes [offset, offset + out.size()). Thread-safe.
  void fill(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  void make_blocks(std::uint64_t first_block, std::size_t blocks, std::byte* out) const;
  void make_shaped_block(std::uint64_t block, std::byte* out) const;
  [[nodiscard]] bool repeats(std::uint64_t block) const;

  std::uint64_t key_;
  bool shaped_ = false;  // not plainly random; the rest is for this case
  ContentTensor tensor_;
  std::uint64_t pool_key_ = 0;
  std::uint64_t compressible_share_ = 0;  // share.h
  std::uint64_t duplicate_share_ = 0;
};

}  // namespace ckptsim::storage
