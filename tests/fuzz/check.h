#pragma once

#include <cstddef>
#include <span>
#include <string_view>

// What every program of this folder is made of: one function that hands bytes of unknown origin to a reader
// and checks what comes back. It is built twice: with libFuzzer, which invents the bytes (preset `fuzz`), and
// with a main that replays the kept corpus, in every build with tests.
namespace ckptsim::fuzz {

// Returns whether the reader took the bytes. Its own refusals (FormatError, ConfigError) are a no; whatever
// else goes wrong, another exception or a broken promise (see require()), ends the process.
[[nodiscard]] bool check(std::span<const std::byte> input);

// A multiple of the input's size, and bytes on top, that check() may hold on the heap at once.
struct MemoryLimit {
  std::size_t factor;
  std::size_t base_bytes;
};
extern const MemoryLimit kMemoryLimit;

// Ends the process with the promise's words unless it is kept.
void require(bool kept, const char* promise);

// Of a reader's refusal. Those of configurations become printable where they are printed.
void require_short(std::string_view message);
void require_short_and_printable(std::string_view message);

// check(), held against kMemoryLimit.
bool check_within_memory(std::span<const std::byte> input);

}  // namespace ckptsim::fuzz
