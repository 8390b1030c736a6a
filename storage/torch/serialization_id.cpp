#include "storage/torch/serialization_id.h"

#include <fmt/format.h>

#include <cstdint>

#include "storage/content/fnv1a.h"

namespace ckptsim::storage::torch {
namespace {

std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t value) {
  return seed ^ (value + 0x9e3779b9 + (seed << 6) + (seed >> 2));
}

}  // namespace

std::string serialization_id(std::span<const RecordDigest> records) {
  std::uint64_t names = 0;
  std::uint64_t checksums = 0;
  for (const RecordDigest& record : records) {
    names = hash_combine(names, fnv1a64(record.name));
    checksums = hash_combine(checksums, record.crc32);
  }
  return fmt::format("{:020}{:020}", names, checksums);
}

}  // namespace ckptsim::storage::torch
