#include <cstdint>

#include "tests/fuzz/check.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  (void)ckptsim::fuzz::check_within_memory(std::as_bytes(std::span(bytes, count)));
  return 0;
}
