#include "storage/content/content.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "storage/content/block_generator.h"
#include "storage/content/fnv1a.h"
#include "storage/content/splitmix64.h"

namespace ckptsim::storage {
namespace {

// Each part passes through the mixer before the next arrives, so that (pass 1, checkpoint 2) and (pass 2,
// checkpoint 1) have nothing in common.
std::uint64_t content_key(const ContentAddress& address) {
  std::uint64_t key = 0;
  for (const std::uint64_t part :
       {address.seed, address.pass, address.checkpoint, fnv1a64(address.file), address.tensor}) {
    key = splitmix64_at(key ^ part, 1);
  }
  return key;
}

}  // namespace

Content::Content(const ContentAddress& address) : key_(content_key(address)) {}

void Content::fill(std::uint64_t offset, std::span<std::byte> out) const {
  const GenerateBlocks generate = fastest_block_generator().generate;
  while (!out.empty()) {
    const std::uint64_t block = offset / kContentBlockBytes;
    const std::size_t within = offset % kContentBlockBytes;
    std::size_t filled = 0;
    if (within == 0 && out.size() >= kContentBlockBytes) {
      const std::size_t blocks = out.size() / kContentBlockBytes;
      generate(key_, block, blocks, out.data());
      filled = blocks * kContentBlockBytes;
    } else {
      std::array<std::byte, kContentBlockBytes> whole;
      generate(key_, block, 1, whole.data());
      filled = std::min(out.size(), kContentBlockBytes - within);
      std::memcpy(out.data(), whole.data() + within, filled);
    }
    offset += filled;
    out = out.subspan(filled);
  }
}

}  // namespace ckptsim::storage
