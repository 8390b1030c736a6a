#include "storage/torch/file_spec.h"

#include <stdexcept>

namespace ckptsim::storage::torch {

std::uint64_t size_bytes(ScalarType type) {
  switch (type) {
    case ScalarType::kBFloat16:
      return 2;
    case ScalarType::kFloat32:
      return 4;
    case ScalarType::kUInt8:
      return 1;
  }
  throw std::invalid_argument("unknown scalar type");
}

std::string_view storage_class(ScalarType type) {
  switch (type) {
    case ScalarType::kBFloat16:
      return "BFloat16Storage";
    case ScalarType::kFloat32:
      return "FloatStorage";
    case ScalarType::kUInt8:
      return "ByteStorage";
  }
  throw std::invalid_argument("unknown scalar type");
}

std::string_view short_name(ScalarType type) {
  switch (type) {
    case ScalarType::kBFloat16:
      return "bf16";
    case ScalarType::kFloat32:
      return "fp32";
    case ScalarType::kUInt8:
      return "uint8";
  }
  throw std::invalid_argument("unknown scalar type");
}

std::uint64_t element_count(const TensorSpec& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t dimension : tensor.shape) {
    count *= static_cast<std::uint64_t>(dimension);
  }
  return count;
}

std::uint64_t size_bytes(const TensorSpec& tensor) {
  return element_count(tensor) * size_bytes(tensor.type);
}

}  // namespace ckptsim::storage::torch
