#include "storage/torch/crc32.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ckptsim::storage::torch {
namespace {

std::uint32_t crc_of(std::string_view text, std::uint32_t before = 0) {
  return crc32(before, std::as_bytes(std::span(text)));
}

TEST(Crc32, IsThatOfZip) {
  EXPECT_EQ(crc_of("123456789"), 0xcbf43926U);  // the check value of CRC-32/ISO-HDLC
  EXPECT_EQ(crc_of(""), 0U);
}

TEST(Crc32, GoesOnFromTheBytesBefore) {
  EXPECT_EQ(crc_of("6789", crc_of("12345")), 0xcbf43926U);
}

TEST(Crc32, CombinesTwoStringsOfAnyLengths) {
  std::mt19937 random(1);
  std::string text(5000, '\0');
  for (char& character : text) {
    character = static_cast<char>(random());
  }
  for (int round = 0; round < 200; ++round) {
    const std::size_t cut = random() % (text.size() + 1);
    const std::string_view first = std::string_view(text).substr(0, cut);
    const std::string_view second = std::string_view(text).substr(cut);
    ASSERT_EQ(crc32_combine(crc_of(first), crc_of(second), second.size()), crc_of(text)) << cut;
  }
}

TEST(Crc32, CombinesLengthsPast4GiB) {
  // Doubling a string of zeros 33 times reaches 8 GiB; the order of combining must not matter on the way.
  std::uint32_t crc = crc_of(std::string(1, '\0'));
  std::uint64_t bytes = 1;
  for (int doubling = 0; doubling < 33; ++doubling) {
    crc = crc32_combine(crc, crc, bytes);
    bytes *= 2;
  }
  const std::uint32_t text = crc_of("text");
  EXPECT_EQ(crc32_combine(crc32_combine(text, crc, bytes), text, 4),
            crc32_combine(text, crc32_combine(crc, text, 4), bytes + 4));
  EXPECT_NE(crc32_combine(text, crc, bytes), crc32_combine(text, crc, bytes & 0xffffffff));
}

}  // namespace
}  // namespace ckptsim::storage::torch
