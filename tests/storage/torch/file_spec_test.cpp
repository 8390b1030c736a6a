#include "storage/torch/file_spec.h"

#include <gtest/gtest.h>

namespace ckptsim::storage::torch {
namespace {

TEST(FileSpec, CountsElementsAndBytes) {
  EXPECT_EQ(size_bytes(TensorSpec{ScalarType::kBFloat16, {3, 5}}), 30U);
  EXPECT_EQ(size_bytes(TensorSpec{ScalarType::kFloat32, {3, 5}}), 60U);
  EXPECT_EQ(size_bytes(TensorSpec{ScalarType::kUInt8, {3, 5}}), 15U);
  EXPECT_EQ(element_count(TensorSpec{ScalarType::kUInt8, {}}), 1U);
  EXPECT_EQ(element_count(TensorSpec{ScalarType::kUInt8, {4, 0}}), 0U);
  EXPECT_EQ(size_bytes(TensorSpec{ScalarType::kFloat32, {1 << 20, 1 << 20}}), std::uint64_t{1} << 42);
}

TEST(FileSpec, NamesElementTypesAsManifestsDo) {
  EXPECT_EQ(short_name(ScalarType::kBFloat16), "bf16");
  EXPECT_EQ(short_name(ScalarType::kFloat32), "fp32");
  EXPECT_EQ(short_name(ScalarType::kUInt8), "uint8");
}

TEST(FileSpec, NamesStorageClassesAsTorchDoes) {
  EXPECT_EQ(storage_class(ScalarType::kBFloat16), "BFloat16Storage");
  EXPECT_EQ(storage_class(ScalarType::kFloat32), "FloatStorage");
  EXPECT_EQ(storage_class(ScalarType::kUInt8), "ByteStorage");
}

}  // namespace
}  // namespace ckptsim::storage::torch
