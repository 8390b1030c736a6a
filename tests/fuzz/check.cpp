#include "tests/fuzz/check.h"

#include <cstdio>
#include <cstdlib>

#include "storage/text/printable.h"
#include "tests/fuzz/heap_meter.h"

namespace ckptsim::fuzz {

void require(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "a promise is broken: %s\n", promise);
  std::abort();
}

void require_short(std::string_view message) {
  constexpr std::size_t most_bytes = 6000;  // 1000 of which each was escaped
  require(message.size() <= most_bytes, "a refusal is short");
}

void require_short_and_printable(std::string_view message) {
  require_short(message);
  require(storage::printable(message) == message, "a refusal is printable");
}

bool check_within_memory(std::span<const std::byte> input) {
  bool taken = false;
  const std::size_t held = heap_growth_of([&] { taken = check(input); });
  const std::size_t most = kMemoryLimit.factor * input.size() + kMemoryLimit.base_bytes;
  if (held > most) {
    std::fprintf(stderr, "%zu bytes on the heap for an input of %zu bytes; at most %zu are allowed\n", held,
                 input.size(), most);
    std::abort();
  }
  return taken;
}

}  // namespace ckptsim::fuzz
