#include "storage/torch/crc32.h"

#include <isa-l/crc.h>
#include <zlib.h>

namespace ckptsim::storage::torch {

std::uint32_t crc32(std::uint32_t before, std::span<const std::byte> bytes) {
  return crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::uint32_t crc32_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  static_assert(sizeof(z_off_t) == sizeof(std::uint64_t), "records may be longer than 2 GiB");
  return static_cast<std::uint32_t>(::crc32_combine(first, second, static_cast<z_off_t>(second_bytes)));
}

}  // namespace ckptsim::storage::torch
