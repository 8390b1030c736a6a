#include "models/dtype.h"

#include <cstdlib>

namespace ckptsim::models {

std::int64_t size_bytes(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBFloat16:
      return 2;
    case Dtype::kFloat32:
      return 4;
    case Dtype::kUInt8:
      return 1;
  }
  std::abort();
}

std::string_view name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBFloat16:
      return "bf16";
    case Dtype::kFloat32:
      return "fp32";
    case Dtype::kUInt8:
      return "uint8";
  }
  std::abort();
}

}  // namespace ckptsim::models
