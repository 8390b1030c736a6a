#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ckptsim::storage {

// What the elements of a tensor are, as far as its content looks like them.
enum class ValueKind {
  kBytes,               // random bytes; quantised optimizer states, which use the whole of their range, too
  kBFloat16,            // normal, mean 0, standard deviation 0.02, as the weights of a trained model
  kFloat32,             // the same
  kFloat32NonNegative,  // a half-normal, 2^-16 as large: second moments, scales
};

// Turns random bytes into values of a kind, in place: each element is a function of its own random bits, made
// with integer arithmetic alone. `bytes` begins with an element and holds whole words of eight bytes.
//
// Of an element's bits, eleven choose one of 2048 equally probable cells of the normal distribution, each an
// eighth of a power of two wide; sign and place in the cell are the other bits as they are. No value is zero,
// infinite or no number; the largest is 3.9 standard deviations.
void make_values(ValueKind kind, std::span<std::byte> bytes);

// The share of such values' bytes, in units of 2^-30 (share.h), that `zstd -1` takes away (their exponents
// repeat).
[[nodiscard]] std::uint64_t own_compressible_share(ValueKind kind);

}  // namespace ckptsim::storage
