#include "storage/torch/value_kind.h"

#include <stdexcept>

namespace ckptsim::storage::torch {

ValueKind value_kind(std::string_view key, ScalarType type) {
  switch (type) {
    case ScalarType::kUInt8:
      return ValueKind::kBytes;
    case ScalarType::kBFloat16:
      return ValueKind::kBFloat16;
    case ScalarType::kFloat32: {
      const std::string_view last = key.substr(key.rfind('.') + 1);  // the whole key without a dot
      const bool non_negative = last == "exp_avg_sq" || last.starts_with("absmax");
      return non_negative ? ValueKind::kFloat32NonNegative : ValueKind::kFloat32;
    }
  }
  throw std::invalid_argument("unknown scalar type");
}

}  // namespace ckptsim::storage::torch
