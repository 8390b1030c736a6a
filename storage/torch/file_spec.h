#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ckptsim::storage::torch {

enum class ScalarType { kBFloat16, kFloat32, kUInt8 };

[[nodiscard]] std::uint64_t size_bytes(ScalarType type);
[[nodiscard]] std::string_view storage_class(ScalarType type);  // "BFloat16Storage"
[[nodiscard]] std::string_view short_name(ScalarType type);     // "bf16", "fp32", "uint8"

// Which torch's files are written: record order and extra records differ.
enum class Dialect { kTorch113, kCurrent };

// A contiguous CPU tensor that has its storage to itself.
struct TensorSpec {
  ScalarType type = ScalarType::kFloat32;
  std::vector<std::int64_t> shape;
};
[[nodiscard]] std::uint64_t element_count(const TensorSpec& tensor);
[[nodiscard]] std::uint64_t size_bytes(const TensorSpec& tensor);

// One entry of the dict that a file holds.
struct Entry {
  std::string key;
  std::variant<TensorSpec, std::int64_t, std::string> value;
};

// A torch.save file: one plain dict, its entries in order. Never exactly one entry (older C++ readers fail on
// it).
struct FileSpec {
  std::string
      name;  // "layer_000-model_00-model_states.pt"; without its last extension, the archive's root folder
  std::vector<Entry> entries;
};

struct ArchiveOptions {
  Dialect dialect = Dialect::kCurrent;
  std::uint64_t alignment_bytes = 64;  // of every payload; a power of two, 64 to 32768
};

}  // namespace ckptsim::storage::torch
