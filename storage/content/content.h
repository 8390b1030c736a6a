#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ckptsim::storage {

// Where a tensor's bytes stand among all bytes this program ever writes.
struct ContentAddress {
  std::uint64_t seed = 1;
  std::uint64_t pass = 1;        // distinct for every pass of a run, warm-up passes included
  std::uint64_t checkpoint = 1;  // within the pass
  std::string_view file;         // the file's name in its checkpoint folder
  std::uint64_t tensor = 0;      // the tensor's number in its file, in order of first use
};

// Content that can be made again from its address: byte `offset` of a tensor is a pure function of (address,
// offset), the same on every machine and instruction set. Random bytes, unique in every 4 KiB block.
class Content {
 public:
  explicit Content(const ContentAddress& address);

  // Fills `out` with the tensor's bytes [offset, offset + out.size()). Thread-safe.
  void fill(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::uint64_t key_;
};

}  // namespace ckptsim::storage
