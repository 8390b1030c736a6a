#pragma once

#include <cstdint>
#include <string_view>

namespace ckptsim::storage {

// FNV-1a (Fowler, Noll, Vo), 64 bits: the same on every machine and with every standard library.
[[nodiscard]] constexpr std::uint64_t fnv1a64(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char character : text) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace ckptsim::storage
