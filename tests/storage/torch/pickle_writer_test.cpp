#include "storage/torch/pickle_writer.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace ckptsim::storage::torch {
namespace {

using namespace std::string_literals;

std::size_t count_of(std::string_view needle, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(needle); at != std::string_view::npos; at = text.find(needle, at + 1)) {
    ++count;
  }
  return count;
}

FileSpec file_of_integers(std::size_t entries) {
  FileSpec file{"integers.pt", {}};
  for (std::size_t i = 0; i < entries; ++i) {
    file.entries.push_back({"key" + std::to_string(i), std::int64_t{7}});
  }
  return file;
}

TEST(PickleWriter, WritesTheBytesOfTorch113) {
  const FileSpec file{"x.pt",
                      {{"a", TensorSpec{ScalarType::kBFloat16, {3, 4}}},
                       {"b", std::int64_t{5}},
                       {"c", std::string("hello")},
                       {"0", TensorSpec{ScalarType::kFloat32, {0, 3}}}}};
  const std::string expected =
      "\x80\x02}q\x00(X\x01\x00\x00\x00"
      "aq\x01"
      "ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\x00\x00storageq\x03"
      "ctorch\nBFloat16Storage\nq\x04X\x01\x00\x00\x00"
      "0q\x05X\x03\x00\x00\x00"
      "cpuq\x06K\x0ctq\x07QK\x00K\x03K\x04\x86q\x08K\x04K\x01\x86q\x09\x89"
      "ccollections\nOrderedDict\nq\x0a)Rq\x0btq\x0cRq\x0d"
      "X\x01\x00\x00\x00"
      "bq\x0eK\x05X\x01\x00\x00\x00"
      "cq\x0fX\x05\x00\x00\x00helloq\x10"
      "X\x01\x00\x00\x00"
      "0q\x11h\x02((h\x03"
      "ctorch\nFloatStorage\nq\x12X\x01\x00\x00\x00"
      "1q\x13h\x06K\x00tq\x14QK\x00K\x00K\x03\x86q\x15K\x03K\x01\x86q\x16\x89h\x0a)Rq\x17tq\x18Rq\x19u."s;
  EXPECT_EQ(write_pickle(file), expected);
}

TEST(PickleWriter, WritesAnEmptyDict) {
  EXPECT_EQ(write_pickle(FileSpec{"x.pt", {}}), "\x80\x02}q\x00."s);
}

TEST(PickleWriter, UsesTheNarrowestIntegerOpcode) {
  const auto opcode_of = [](std::int64_t value) {
    const std::string pickle = write_pickle(FileSpec{"x.pt", {{"k1", value}, {"k2", std::string("end")}}});
    const std::size_t begin = pickle.find("k1q\x01") + 4;
    return pickle.substr(begin, pickle.find("X\x02\x00\x00\x00k2"s) - begin);
  };
  EXPECT_EQ(opcode_of(0), "K\x00"s);
  EXPECT_EQ(opcode_of(255), "K\xff"s);
  EXPECT_EQ(opcode_of(256), "M\x00\x01"s);
  EXPECT_EQ(opcode_of(65535), "M\xff\xff"s);
  EXPECT_EQ(opcode_of(65536), "J\x00\x00\x01\x00"s);
  EXPECT_EQ(opcode_of(-1), "J\xff\xff\xff\xff"s);
  EXPECT_EQ(opcode_of(2147483647), "J\xff\xff\xff\x7f"s);
  EXPECT_EQ(opcode_of(-2147483648), "J\x00\x00\x00\x80"s);
  EXPECT_EQ(opcode_of(2147483648), "\x8a\x05\x00\x00\x00\x80\x00"s);
  EXPECT_EQ(opcode_of(-2147483649), "\x8a\x05\xff\xff\xff\x7f\xff"s);
  EXPECT_EQ(opcode_of(-(std::int64_t{1} << 39)), "\x8a\x05\x00\x00\x00\x00\x80"s);
  EXPECT_EQ(opcode_of(INT64_MAX), "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s);
  EXPECT_EQ(opcode_of(INT64_MIN), "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"s);
}

TEST(PickleWriter, EndsAFullBatchWithAnEmptyOne) {
  EXPECT_TRUE(write_pickle(file_of_integers(999)).ends_with("K\x07u."s));
  EXPECT_TRUE(write_pickle(file_of_integers(1000)).ends_with("K\x07u(u."s));
  EXPECT_EQ(count_of("K\x07u("s, write_pickle(file_of_integers(2001))), 2U);
}

TEST(PickleWriter, SharesOnlyTheStringsThatCPythonShares) {
  const FileSpec file{"x.pt",
                      {{"k", std::string("k")},
                       {"kk", std::string("kk")},
                       {"", std::string()},
                       {"\xc3\xa9", std::string("\xc3\xa9")}}};
  const std::string pickle = write_pickle(file);
  EXPECT_EQ(count_of("X\x01\x00\x00\x00k"s, pickle), 1U);
  EXPECT_EQ(count_of("X\x02\x00\x00\x00kk"s, pickle), 2U);
  EXPECT_EQ(count_of("X\x00\x00\x00\x00"s, pickle), 1U);
  EXPECT_EQ(count_of("X\x02\x00\x00\x00\xc3\xa9"s, pickle), 1U);
}

TEST(PickleWriter, RefusesADictOfOneEntry) {
  EXPECT_THROW((void)write_pickle(file_of_integers(1)), std::invalid_argument);
}

TEST(PickleWriter, RefusesEqualKeys) {
  const FileSpec file{"x.pt", {{"k", std::int64_t{1}}, {"k", std::int64_t{2}}}};
  EXPECT_THROW((void)write_pickle(file), std::invalid_argument);
}

TEST(PickleWriter, RefusesShapesThatNoTensorHas) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{-1}, {std::int64_t{1} << 32, std::int64_t{1} << 31}, {INT64_MAX, 0, 4}}) {
    const FileSpec file{"x.pt", {{"k", TensorSpec{ScalarType::kUInt8, shape}}, {"l", std::int64_t{2}}}};
    EXPECT_THROW((void)write_pickle(file), std::invalid_argument);
  }
}

}  // namespace
}  // namespace ckptsim::storage::torch
