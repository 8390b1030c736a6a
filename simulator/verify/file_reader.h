#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <system_error>

#include "storage/target/target.h"

namespace ckptsim::simulator {

// A stretch of the file that came, or did not.
struct ReadStretch {
  std::uint64_t offset = 0;
  std::uint64_t asked = 0;           // bytes
  std::span<const std::byte> bytes;  // fewer than asked where the file ends; none with an error
  std::error_code error;
};

// Reads the first `bytes` of a file, as many blocks at a time as the target has in flight, and hands them to
// `consume` in order, each stretch once, until it returns false. A block that cannot be read is handed over
// with its error, and the next ones follow. Returns the error of opening the file, with nothing in flight any
// more. `read_bytes` grows by what has come.
[[nodiscard]] std::error_code read_in_order(storage::Target& target, const std::string& path,
                                            std::uint64_t bytes, std::atomic<std::uint64_t>& read_bytes,
                                            const std::function<bool(const ReadStretch&)>& consume);

}  // namespace ckptsim::simulator
