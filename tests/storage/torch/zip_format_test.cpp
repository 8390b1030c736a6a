#include "storage/torch/zip_format.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace ckptsim::storage::torch {
namespace {

constexpr std::uint64_t kMostIn32Bits = 0xffffffff;

TEST(ZipFormat, StartsEveryPayloadAtAMultipleOfTheAlignment) {
  for (const std::uint64_t alignment : {64U, 512U, 4096U, 32768U}) {
    for (const std::uint64_t offset :
         {std::uint64_t{0}, std::uint64_t{1}, kMostIn32Bits - 1, kMostIn32Bits}) {
      for (const std::uint64_t bytes :
           {std::uint64_t{0}, std::uint64_t{1}, kMostIn32Bits - 1, kMostIn32Bits}) {
        const ZipEntry entry{"root/data/0", offset, bytes, 0};
        const std::string header = encode_local_header(entry, alignment);
        EXPECT_EQ((offset + header.size()) % alignment, 0U);
        EXPECT_EQ(local_header_bytes(entry, alignment), header.size());
      }
    }
  }
}

TEST(ZipFormat, KnowsTheLengthOfWhatItWrites) {
  for (const std::uint64_t offset :
       {std::uint64_t{100}, kMostIn32Bits - 1, kMostIn32Bits, kMostIn32Bits + 1}) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{9}, kMostIn32Bits - 1, kMostIn32Bits}) {
      const ZipEntry entry{"root/data/0", offset, bytes, 5};
      EXPECT_EQ(descriptor_bytes(entry), encode_descriptor(entry).size());
      EXPECT_EQ(directory_entry_bytes(entry), encode_directory_entry(entry).size());
      EXPECT_EQ(is_zip64(entry), offset >= kMostIn32Bits || bytes >= kMostIn32Bits);
    }
  }
  EXPECT_EQ(encode_tail(ZipDirectory{1, 2, 3}).size(), kTailBytes);
}

// "01 ab" as bytes.
std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at < hex.size(); at += hex[at] == ' ' ? 1U : 2U) {
    if (hex[at] != ' ') {
      bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16)));
    }
  }
  return bytes;
}

// The bytes below were written by torch 1.13 to x.pt: a tensor of 2^32 + 10 bytes, one of 12 bytes behind it,
// an empty one, and the end of that file.
TEST(ZipFormat, WritesALargeRecordAsTorchDoes) {
  const ZipEntry entry{"x/data/0", 453, 4294967306, 0x6b87b1ec};
  EXPECT_EQ(encode_local_header(entry, 64),
            bytes_of("504b0304 0000 0808 0000 0000 0000 00000000 00000000 00000000 0800 5500") + "x/data/0" +
                bytes_of("0100 1000 0a00000001000000 0000000000000000 4642 3d00") + std::string(61, 'Z'));
  EXPECT_EQ(encode_descriptor(entry), bytes_of("504b0708 ecb1876b 0a00000001000000 0a00000001000000"));
  EXPECT_EQ(
      encode_directory_entry(entry),
      bytes_of("504b0102 0000 0000 0808 0000 0000 0000 ecb1876b ffffffff ffffffff 0800 1400 0000 0000 0000 "
               "00000000 c5010000") +
          "x/data/0" + bytes_of("0100 1000 0a00000001000000 0a00000001000000"));
}

TEST(ZipFormat, WritesAFarRecordAsTorchDoes) {
  const ZipEntry entry{"x/data/1", 4294967906, 12, 0xdc7c4e94};
  EXPECT_EQ(encode_local_header(entry, 64),
            bytes_of("504b0304 0000 0808 0000 0000 0000 00000000 00000000 00000000 0800 3800") + "x/data/1" +
                bytes_of("0100 0800 6202000001000000 4642 2800") + std::string(40, 'Z'));
  EXPECT_EQ(encode_descriptor(entry), bytes_of("504b0708 944e7cdc 0c00000000000000 0c00000000000000"));
  EXPECT_EQ(
      encode_directory_entry(entry),
      bytes_of("504b0102 0000 0000 0808 0000 0000 0000 944e7cdc 0c000000 0c000000 0800 0c00 0000 0000 0000 "
               "00000000 ffffffff") +
          "x/data/1" + bytes_of("0100 0800 6202000001000000"));
}

TEST(ZipFormat, WritesAnEmptyRecordWithoutADescriptor) {
  const ZipEntry entry{"x/data/2", 4294968036, 0, 0};
  EXPECT_EQ(encode_local_header(entry, 64),
            bytes_of("504b0304 0000 0008 0000 0000 0000 00000000 00000000 00000000 0800 3600") + "x/data/2" +
                bytes_of("0100 0800 e402000001000000 4642 2600") + std::string(38, 'Z'));
  EXPECT_EQ(encode_descriptor(entry), "");
}

TEST(ZipFormat, WritesTheTailAsTorchDoes) {
  EXPECT_EQ(
      encode_tail(ZipDirectory{0x18000041a, 0x18b, 6}),
      bytes_of("504b0606 2c00000000000000 1e03 2d00 00000000 00000000 0600000000000000 0600000000000000 "
               "8b01000000000000 1a04008001000000 "
               "504b0607 00000000 a505008001000000 01000000 "
               "504b0506 0000 0000 0600 0600 8b010000 ffffffff 0000"));
}

}  // namespace
}  // namespace ckptsim::storage::torch
