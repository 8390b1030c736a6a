#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The subset of the zip format that torch.save writes: stored records, sizes in descriptors behind the
// payloads, zip64 where needed, payloads aligned by padding in an extra field. Field order and sentinels
// follow PKWARE's APPNOTE 6.3 and the bytes of torch's PyTorchStreamWriter. Pure functions of values; no file
// is touched here.
namespace ckptsim::storage::torch {

inline constexpr std::uint32_t kLocalHeaderSignature = 0x04034b50;
inline constexpr std::uint32_t kDescriptorSignature = 0x08074b50;
inline constexpr std::uint32_t kDirectoryEntrySignature = 0x02014b50;
inline constexpr std::uint32_t kZip64EndSignature = 0x06064b50;
inline constexpr std::uint32_t kZip64LocatorSignature = 0x07064b50;
inline constexpr std::uint32_t kEndSignature = 0x06054b50;

inline constexpr std::size_t kLocalHeaderBytes = 30;  // without name and extra field
inline constexpr std::size_t kDirectoryEntryBytes = 46;
inline constexpr std::size_t kZip64EndBytes = 56;
inline constexpr std::size_t kZip64LocatorBytes = 20;
inline constexpr std::size_t kEndBytes = 22;
inline constexpr std::size_t kTailBytes = kZip64EndBytes + kZip64LocatorBytes + kEndBytes;

inline constexpr std::uint16_t kFlagEncrypted = 0x0001;
inline constexpr std::uint16_t kFlagDescriptor = 0x0008;
inline constexpr std::uint16_t kFlagUtf8 = 0x0800;
inline constexpr std::uint16_t kZip64ExtraId = 0x0001;

// A 16- or 32-bit field that is full says that the zip64 part holds the value.
inline constexpr std::uint16_t kSentinel16 = 0xffff;
inline constexpr std::uint32_t kSentinel32 = 0xffffffff;

// One record as its headers describe it.
struct ZipEntry {
  std::string name;  // with the root folder
  std::uint64_t header_offset = 0;
  std::uint64_t bytes = 0;  // stored: compressed and uncompressed size are one
  std::uint32_t crc32 = 0;
};

[[nodiscard]] bool is_zip64(const ZipEntry& entry);

// From the header's first byte to the payload's, padding included.
[[nodiscard]] std::uint64_t local_header_bytes(const ZipEntry& entry, std::uint64_t alignment_bytes);
[[nodiscard]] std::string encode_local_header(const ZipEntry& entry, std::uint64_t alignment_bytes);

// What follows the payload: nothing for an empty record.
[[nodiscard]] std::uint64_t descriptor_bytes(const ZipEntry& entry);
[[nodiscard]] std::string encode_descriptor(const ZipEntry& entry);

[[nodiscard]] std::uint64_t directory_entry_bytes(const ZipEntry& entry);
[[nodiscard]] std::string encode_directory_entry(const ZipEntry& entry);

// Where the central directory is.
struct ZipDirectory {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

// The zip64 end record, its locator and the classic end record: the last kTailBytes of the file.
[[nodiscard]] std::string encode_tail(const ZipDirectory& directory);

}  // namespace ckptsim::storage::torch
