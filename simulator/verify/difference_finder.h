#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "storage/torch/archive_place.h"

namespace ckptsim::simulator {

// Bytes of one stretch of an archive that differ, with at most a few equal ones between them.
struct DifferentRange {
  static constexpr std::uint64_t kMostShown = 8;
  storage::torch::ArchivePlace place;
  std::uint64_t begin = 0;  // in the file
  std::uint64_t end = 0;
  std::uint64_t wrong_bytes = 0;
  // The first of those that differ.
  std::array<std::byte, kMostShown> expected{};
  std::array<std::byte, kMostShown> found{};
};

// Finds where bytes of an archive differ from those that it should have. The first ranges are kept, all are
// counted. One thread.
class DifferenceFinder {
 public:
  static constexpr std::size_t kMostRanges = 8;
  static constexpr std::uint64_t kMostEqualBetween = 15;  // random bytes equal others here and there

  // `layout` outlives the finder.
  explicit DifferenceFinder(const storage::torch::ArchiveLayout& layout) : layout_(layout) {}

  // Bytes of the file from `offset` on; both spans are of one length, offsets never go back.
  void compare(std::uint64_t offset, std::span<const std::byte> expected, std::span<const std::byte> found);

  [[nodiscard]] const std::vector<DifferentRange>& first_ranges() const { return kept_; }
  [[nodiscard]] std::uint64_t ranges() const { return ranges_; }
  [[nodiscard]] std::uint64_t wrong_bytes() const { return wrong_bytes_; }
  // Indices of layout.records whose payloads differ.
  [[nodiscard]] const std::set<std::size_t>& wrong_payloads() const { return wrong_payloads_; }

 private:
  void note(std::uint64_t position, std::byte expected, std::byte found);
  void begin_range(std::uint64_t position);

  const storage::torch::ArchiveLayout& layout_;
  DifferentRange last_;
  std::vector<DifferentRange> kept_;
  std::uint64_t ranges_ = 0;
  std::uint64_t wrong_bytes_ = 0;
  std::set<std::size_t> wrong_payloads_;
};

}  // namespace ckptsim::simulator
