#include "storage/torch/zip_format.h"

#include <algorithm>

#include "storage/torch/little_endian.h"

namespace ckptsim::storage::torch {
namespace {

constexpr std::size_t kExtraHeaderBytes = 4;       // id and length
constexpr std::uint16_t kPaddingExtraId = 0x4246;  // "FB"
constexpr std::uint16_t kMadeBy = 0x031e;
constexpr std::uint16_t kVersionNeeded = 0x002d;

bool is_far(std::uint64_t value) {
  return value >= kSentinel32;
}

template <typename Narrow>
Narrow narrow(std::uint64_t value, Narrow sentinel) {
  return static_cast<Narrow>(std::min<std::uint64_t>(value, sentinel));
}

// Empty unless the entry is zip64. The compressed size is apart because torch does not know it yet when it
// writes the local header: there it is 0.
std::string encode_zip64_extra(const ZipEntry& entry, std::uint64_t compressed_bytes) {
  std::string values;
  if (is_far(entry.bytes)) {
    append_little_endian(values, entry.bytes);
    append_little_endian(values, compressed_bytes);
  }
  if (is_far(entry.header_offset)) {
    append_little_endian(values, entry.header_offset);
  }
  if (values.empty()) {
    return {};
  }
  std::string extra;
  append_little_endian(extra, kZip64ExtraId);
  append_little_endian(extra, static_cast<std::uint16_t>(values.size()));
  return extra + values;
}

std::uint64_t zip64_extra_bytes(const ZipEntry& entry) {
  const std::uint64_t values = (is_far(entry.bytes) ? 16U : 0U) + (is_far(entry.header_offset) ? 8U : 0U);
  return values == 0 ? 0 : kExtraHeaderBytes + values;
}

std::uint64_t padding_bytes(const ZipEntry& entry, std::uint64_t alignment_bytes) {
  const std::uint64_t unpadded = entry.header_offset + kLocalHeaderBytes + entry.name.size() +
                                 zip64_extra_bytes(entry) + kExtraHeaderBytes;
  return (alignment_bytes - unpadded % alignment_bytes) % alignment_bytes;
}

std::uint16_t flags(const ZipEntry& entry) {
  return static_cast<std::uint16_t>(entry.bytes == 0 ? kFlagUtf8 : kFlagUtf8 | kFlagDescriptor);
}

}  // namespace

bool is_zip64(const ZipEntry& entry) {
  return is_far(entry.bytes) || is_far(entry.header_offset);
}

std::uint64_t local_header_bytes(const ZipEntry& entry, std::uint64_t alignment_bytes) {
  return kLocalHeaderBytes + entry.name.size() + zip64_extra_bytes(entry) + kExtraHeaderBytes +
         padding_bytes(entry, alignment_bytes);
}

std::string encode_local_header(const ZipEntry& entry, std::uint64_t alignment_bytes) {
  const std::uint64_t padding = padding_bytes(entry, alignment_bytes);
  std::string extra = encode_zip64_extra(entry, 0);
  append_little_endian(extra, kPaddingExtraId);
  append_little_endian(extra, static_cast<std::uint16_t>(padding));
  extra.append(padding, 'Z');

  std::string header;
  append_little_endian(header, kLocalHeaderSignature);
  append_little_endian(header, std::uint16_t{0});  // version needed
  append_little_endian(header, flags(entry));
  append_little_endian(header, std::uint16_t{0});  // stored
  append_little_endian(header, std::uint32_t{0});  // time and date
  append_little_endian(header, std::uint32_t{0});  // CRC and sizes stand in the descriptor
  append_little_endian(header, std::uint64_t{0});
  append_little_endian(header, static_cast<std::uint16_t>(entry.name.size()));
  append_little_endian(header, static_cast<std::uint16_t>(extra.size()));
  return header + entry.name + extra;
}

std::uint64_t descriptor_bytes(const ZipEntry& entry) {
  if (entry.bytes == 0) {
    return 0;
  }
  return is_zip64(entry) ? 24 : 16;
}

std::string encode_descriptor(const ZipEntry& entry) {
  std::string descriptor;
  if (entry.bytes == 0) {
    return descriptor;
  }
  append_little_endian(descriptor, kDescriptorSignature);
  append_little_endian(descriptor, entry.crc32);
  for (int size = 0; size < 2; ++size) {  // compressed, uncompressed
    if (is_zip64(entry)) {
      append_little_endian(descriptor, entry.bytes);
    } else {
      append_little_endian(descriptor, static_cast<std::uint32_t>(entry.bytes));
    }
  }
  return descriptor;
}

std::uint64_t directory_entry_bytes(const ZipEntry& entry) {
  return kDirectoryEntryBytes + entry.name.size() + zip64_extra_bytes(entry);
}

std::string encode_directory_entry(const ZipEntry& entry) {
  const std::string extra = encode_zip64_extra(entry, entry.bytes);
  std::string header;
  append_little_endian(header, kDirectoryEntrySignature);
  append_little_endian(header, std::uint32_t{0});  // version made by and needed
  append_little_endian(header, flags(entry));
  append_little_endian(header, std::uint16_t{0});  // stored
  append_little_endian(header, std::uint32_t{0});  // time and date
  append_little_endian(header, entry.crc32);
  append_little_endian(header, narrow(entry.bytes, kSentinel32));
  append_little_endian(header, narrow(entry.bytes, kSentinel32));
  append_little_endian(header, static_cast<std::uint16_t>(entry.name.size()));
  append_little_endian(header, static_cast<std::uint16_t>(extra.size()));
  append_little_endian(header, std::uint16_t{0});  // comment
  append_little_endian(header, std::uint32_t{0});  // disk, internal attributes
  append_little_endian(header, std::uint32_t{0});  // external attributes
  append_little_endian(header, narrow(entry.header_offset, kSentinel32));
  return header + entry.name + extra;
}

std::string encode_tail(const ZipDirectory& directory) {
  std::string tail;
  append_little_endian(tail, kZip64EndSignature);
  append_little_endian(tail, std::uint64_t{kZip64EndBytes - 12});  // what follows this field
  append_little_endian(tail, kMadeBy);
  append_little_endian(tail, kVersionNeeded);
  append_little_endian(tail, std::uint64_t{0});  // this disk, the directory's disk
  append_little_endian(tail, directory.entries);
  append_little_endian(tail, directory.entries);
  append_little_endian(tail, directory.bytes);
  append_little_endian(tail, directory.offset);

  append_little_endian(tail, kZip64LocatorSignature);
  append_little_endian(tail, std::uint32_t{0});  // disk of the zip64 end record
  append_little_endian(tail, directory.offset + directory.bytes);
  append_little_endian(tail, std::uint32_t{1});  // disks

  append_little_endian(tail, kEndSignature);
  append_little_endian(tail, std::uint32_t{0});  // disks
  append_little_endian(tail, narrow(directory.entries, kSentinel16));
  append_little_endian(tail, narrow(directory.entries, kSentinel16));
  append_little_endian(tail, narrow(directory.bytes, kSentinel32));
  append_little_endian(tail, narrow(directory.offset, kSentinel32));
  append_little_endian(tail, std::uint16_t{0});  // comment
  return tail;
}

}  // namespace ckptsim::storage::torch
