#include "storage/content/content.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>

#include "storage/content/block_generator.h"
#include "storage/content/fnv1a.h"
#include "storage/content/repeats.h"
#include "storage/content/share.h"
#include "storage/content/splitmix64.h"
#include "storage/content/zero_run.h"

namespace ckptsim::storage {
namespace {

// Each part passes through the mixer before the next arrives, so that (pass 1, checkpoint 2) and (pass 2,
// checkpoint 1) have nothing in common.
std::uint64_t mixed(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t key = 0;
  for (const std::uint64_t part : parts) {
    key = splitmix64_at(key ^ part, 1);
  }
  return key;
}

std::uint64_t content_key(const ContentAddress& address) {
  return mixed({address.seed, address.pass, address.checkpoint, fnv1a64(address.file), address.tensor});
}

// Any number of parts but content_key()'s keeps the pool apart from all tensors.
std::uint64_t pool_key(const ContentAddress& address) {
  return mixed({address.seed, fnv1a64("pool")});
}

// Where in the row of repeating and other blocks a file begins: files of a few blocks would otherwise all
// begin with blocks that repeat.
std::uint64_t start_of_file(const ContentAddress& address) {
  return mixed({address.seed, address.pass, address.checkpoint, fnv1a64(address.file)}) >> 32U;
}

}  // namespace

Content::Content(const ContentAddress& address) : key_(content_key(address)) {}

Content::Content(const ContentAddress& address, const ContentSettings& settings, const ContentTensor& tensor)
    : key_(content_key(address)),
      tensor_(tensor),
      pool_key_(pool_key(address)),
      compressible_share_(share_of(settings.compressible_fraction)),
      duplicate_share_(share_of(settings.duplicate_fraction)) {
  if (settings.kind == ContentKind::kRandom) {
    tensor_.values = ValueKind::kBytes;
  }
  tensor_.first_block += start_of_file(address);
  shaped_ = tensor_.values != ValueKind::kBytes || compressible_share_ > 0 || duplicate_share_ > 0;
}

void Content::fill(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const std::uint64_t block = offset / kContentBlockBytes;
    const std::size_t within = offset % kContentBlockBytes;
    std::size_t filled = 0;
    if (within == 0 && out.size() >= kContentBlockBytes) {
      const std::size_t blocks = out.size() / kContentBlockBytes;
      make_blocks(block, blocks, out.data());
      filled = blocks * kContentBlockBytes;
    } else {
      std::array<std::byte, kContentBlockBytes> whole;
      make_blocks(block, 1, whole.data());
      filled = std::min(out.size(), kContentBlockBytes - within);
      std::memcpy(out.data(), whole.data() + within, filled);
    }
    offset += filled;
    out = out.subspan(filled);
  }
}

void Content::make_blocks(std::uint64_t first_block, std::size_t blocks, std::byte* out) const {
  if (!shaped_) {
    fastest_block_generator().generate(key_, first_block, blocks, out);
    return;
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    make_shaped_block(first_block + i, out + i * kContentBlockBytes);
  }
}

void Content::make_shaped_block(std::uint64_t block, std::byte* out) const {
  if (repeats(block)) {
    fastest_block_generator().generate(pool_key_, (tensor_.first_block + block) % kPoolBlocks, 1, out);
  } else {
    fastest_block_generator().generate(key_, block, 1, out);
  }
  make_values(tensor_.values, std::span(out, kContentBlockBytes));
  const std::uint64_t begin = block * kContentBlockBytes;
  const std::size_t bytes =
      begin < tensor_.bytes ? std::min<std::uint64_t>(kContentBlockBytes, tensor_.bytes - begin) : 0;
  const std::size_t zeros =
      zero_run_bytes(bytes, compressible_share_, own_compressible_share(tensor_.values));
  std::memset(out + (bytes - zeros), 0, zeros);
}

// A tensor's last block, where it is not whole, is its own.
bool Content::repeats(std::uint64_t block) const {
  return block < tensor_.bytes / kContentBlockBytes &&
         is_repeated(tensor_.first_block + block, duplicate_share_);
}

}  // namespace ckptsim::storage
