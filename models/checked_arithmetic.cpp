#include "models/checked_arithmetic.h"

#include "models/errors.h"

namespace ckptsim::models {
namespace {

[[noreturn]] void throw_too_large() {
  throw ConfigError("/model", "model: a size passes 2^63 - 1; make the model's dimensions smaller");
}

}  // namespace

std::int64_t checked_sum(std::int64_t left, std::int64_t right) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(left, right, &sum)) throw_too_large();
  return sum;
}

std::int64_t checked_product(std::int64_t left, std::int64_t right) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(left, right, &product)) throw_too_large();
  return product;
}

std::int64_t checked_element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t dimension : shape) {
    elements = checked_product(elements, dimension);
  }
  return elements;
}

}  // namespace ckptsim::models
