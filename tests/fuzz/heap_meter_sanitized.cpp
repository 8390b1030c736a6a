// Under a sanitizer, whose own allocator tells: it checks operator new and delete by its own pair of them.
#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "tests/fuzz/heap_meter.h"

// Of the sanitizers' run-time library. g++ 12 brings no header that declares them.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                                         void (*on_free)(const volatile void*));
extern "C" std::size_t __sanitizer_get_allocated_size(const volatile void* memory);

namespace ckptsim::fuzz {
namespace {

// Signed: what was given out before the hooks were there may be given back later.
std::ptrdiff_t held = 0;
std::ptrdiff_t peak = 0;

void on_malloc(const volatile void*, std::size_t bytes) {
  held += static_cast<std::ptrdiff_t>(bytes);
  peak = std::max(peak, held);
}

void on_free(const volatile void* memory) {
  if (memory != nullptr) held -= static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(memory));
}

}  // namespace

std::size_t heap_growth_of(const std::function<void()>& work) {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
  if (installed == 0) std::abort();
  const std::ptrdiff_t before = held;
  peak = held;
  work();
  return static_cast<std::size_t>(peak - before);
}

}  // namespace ckptsim::fuzz
