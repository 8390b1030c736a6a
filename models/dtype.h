#pragma once

#include <cstdint>
#include <string_view>

namespace ckptsim::models {

// Element types that a training state is saved in.
enum class Dtype { kBFloat16, kFloat32, kUInt8 };

// Bytes of one element.
[[nodiscard]] std::int64_t size_bytes(Dtype dtype);

// "bf16", "fp32", "uint8".
[[nodiscard]] std::string_view name(Dtype dtype);

}  // namespace ckptsim::models
