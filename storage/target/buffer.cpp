#include "storage/target/buffer.h"

#include <fmt/format.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "storage/errors.h"
#include "storage/target/check.h"

namespace ckptsim::storage {
namespace {

// Blocks begin on a huge page: they are then aligned to whatever direct I/O may ask for, and the kernel pins
// a few large pages for each write where it would pin a thousand small ones.
constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

std::uint64_t mapped_bytes(unsigned count, std::uint64_t buffer_bytes, HugePages huge_pages) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return round_up(count * buffer_bytes, huge_pages == HugePages::kOff ? page : kHugePage);
}

std::byte* map_reserved_huge_pages(std::uint64_t size_bytes) {
  void* mapping = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
  if (mapping == MAP_FAILED) {
    throw UnsuitableTarget(fmt::format(
        "storage.huge_pages is on and {} huge pages of 2 MiB for the buffers of one rank cannot be "
        "had: {}; reserve as many for every rank of the host (sysctl vm.nr_hugepages), or let "
        "storage.huge_pages be auto",
        size_bytes / kHugePage, std::system_category().message(errno)));
  }
  return static_cast<std::byte*>(mapping);
}

std::byte* map_aligned(std::uint64_t size_bytes, HugePages huge_pages) {
  const std::uint64_t with_slack = size_bytes + kHugePage;
  void* mapping = mmap(nullptr, with_slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::system_error(errno, std::system_category(), "memory for I/O buffers");
  auto* const start = static_cast<std::byte*>(mapping);
  const std::uint64_t misalignment = reinterpret_cast<std::uintptr_t>(start) % kHugePage;
  const std::uint64_t head = misalignment == 0 ? 0 : kHugePage - misalignment;
  std::byte* const aligned = start + head;
  if (head > 0) munmap(start, head);
  munmap(aligned + size_bytes, with_slack - head - size_bytes);
  // Advice only: a kernel without transparent huge pages gives ordinary ones.
  madvise(aligned, size_bytes, huge_pages == HugePages::kOff ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  return aligned;
}

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), index_(other.index_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    index_ = other.index_;
  }
  return *this;
}

Buffer::~Buffer() {
  release();
}

std::span<std::byte> Buffer::bytes() const noexcept {
  if (!valid()) return {};
  return pool_->memory().subspan(index_ * pool_->buffer_bytes(), pool_->buffer_bytes());
}

void Buffer::release() noexcept {
  if (pool_ == nullptr) return;
  pool_->free_.push_back(index_);  // never allocates: the pool reserved room for all of its blocks
  pool_ = nullptr;
}

BufferPool::BufferPool(unsigned count, std::uint64_t buffer_bytes, HugePages huge_pages)
    : mapped_bytes_(mapped_bytes(count, buffer_bytes, huge_pages)),
      buffer_bytes_(buffer_bytes),
      count_(count) {
  check(count > 0 && buffer_bytes > 0, "a buffer pool holds at least one buffer of at least one byte");
  free_.reserve(count);
  for (unsigned index = count; index > 0; --index)
    free_.push_back(index - 1);
  memory_ = huge_pages == HugePages::kOn ? map_reserved_huge_pages(mapped_bytes_)
                                         : map_aligned(mapped_bytes_, huge_pages);
}

BufferPool::~BufferPool() {
  munmap(memory_, mapped_bytes_);
}

Buffer BufferPool::take() noexcept {
  if (free_.empty()) return {};
  const unsigned index = free_.back();
  free_.pop_back();
  return {this, index};
}

std::span<std::byte> BufferPool::memory() const noexcept {
  return {memory_, count_ * buffer_bytes_};
}

}  // namespace ckptsim::storage
