#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace ckptsim::storage::torch {

template <typename Integer>
void append_little_endian(std::string& out, Integer value) {
  using Unsigned = std::make_unsigned_t<Integer>;
  auto rest = static_cast<std::uint64_t>(static_cast<Unsigned>(value));
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    out.push_back(static_cast<char>(rest & 0xff));
    rest >>= 8;
  }
}

// The caller has checked that `bytes` reaches to at + sizeof(Integer).
template <typename Integer>
[[nodiscard]] Integer load_little_endian(std::string_view bytes, std::size_t at = 0) {
  static_assert(std::is_unsigned_v<Integer>);
  std::uint64_t value = 0;
  for (std::size_t i = sizeof(Integer); i > 0; --i) {
    value = (value << 8) | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return static_cast<Integer>(value);
}

}  // namespace ckptsim::storage::torch
