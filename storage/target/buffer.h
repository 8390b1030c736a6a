#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ckptsim::storage {

class BufferPool;

// kAuto: transparent huge pages where the kernel has some. kOn: reserved ones (vm.nr_hugepages), or nothing.
enum class HugePages { kAuto, kOn, kOff };

// One block of a pool, owned by whoever holds it; goes back to its pool when destroyed. Move-only. The pool
// must outlive it.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  [[nodiscard]] bool valid() const noexcept { return pool_ != nullptr; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept;  // the whole block
  [[nodiscard]] unsigned index() const noexcept {
    return index_;
  }  // its number in the pool, for registration

 private:
  friend class BufferPool;
  Buffer(BufferPool* pool, unsigned index) noexcept : pool_(pool), index_(index) {}
  void release() noexcept;

  BufferPool* pool_ = nullptr;
  unsigned index_ = 0;
};

// A fixed number of equal blocks in one page-aligned mapping. Not thread-safe.
class BufferPool {
 public:
  // Throws std::system_error when the memory cannot be had, UnsuitableTarget when it is to be on huge pages
  // and too few are reserved.
  BufferPool(unsigned count, std::uint64_t buffer_bytes, HugePages huge_pages = HugePages::kAuto);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  [[nodiscard]] Buffer take() noexcept;                        // invalid when none is free
  [[nodiscard]] std::span<std::byte> memory() const noexcept;  // all blocks, one after another
  [[nodiscard]] std::uint64_t buffer_bytes() const noexcept { return buffer_bytes_; }
  [[nodiscard]] unsigned count() const noexcept { return count_; }

 private:
  friend class Buffer;
  std::byte* memory_ = nullptr;
  std::uint64_t mapped_bytes_;
  std::uint64_t buffer_bytes_;
  unsigned count_;
  std::vector<unsigned> free_;
};

}  // namespace ckptsim::storage
