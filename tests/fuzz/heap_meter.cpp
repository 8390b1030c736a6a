#include "tests/fuzz/heap_meter.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace ckptsim::fuzz {
namespace {

std::size_t held = 0;
std::size_t peak = 0;

void* take(std::size_t bytes, std::size_t alignment) {
  void* memory = alignment == 0
                     ? std::malloc(bytes == 0 ? 1 : bytes)
                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  held += ::malloc_usable_size(memory);
  peak = std::max(peak, held);
  return memory;
}

void give_back(void* memory) noexcept {
  if (memory == nullptr) return;
  held -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

std::size_t heap_growth_of(const std::function<void()>& work) {
  const std::size_t before = held;
  peak = held;
  work();
  return peak - before;
}

}  // namespace ckptsim::fuzz

// The forms for arrays, and those that do not throw, call these.
void* operator new(std::size_t bytes) {
  return ckptsim::fuzz::take(bytes, 0);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return ckptsim::fuzz::take(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  ckptsim::fuzz::give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  ckptsim::fuzz::give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  ckptsim::fuzz::give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  ckptsim::fuzz::give_back(memory);
}
