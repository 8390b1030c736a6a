#include "simulator/verify/difference_finder.h"

#include <cstring>

namespace ckptsim::simulator {

using storage::torch::ArchivePart;

void DifferenceFinder::compare(std::uint64_t offset, std::span<const std::byte> expected,
                               std::span<const std::byte> found) {
  if (std::memcmp(expected.data(), found.data(), expected.size()) == 0) return;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != found[i]) note(offset + i, expected[i], found[i]);
  }
}

void DifferenceFinder::note(std::uint64_t position, std::byte expected, std::byte found) {
  ++wrong_bytes_;
  const bool goes_on = ranges_ > 0 && position < last_.place.end && position - last_.end <= kMostEqualBetween;
  if (!goes_on) begin_range(position);
  last_.end = position + 1;
  if (last_.wrong_bytes < DifferentRange::kMostShown) {
    last_.expected[last_.wrong_bytes] = expected;
    last_.found[last_.wrong_bytes] = found;
  }
  ++last_.wrong_bytes;
  if (ranges_ <= kMostRanges) kept_.back() = last_;
}

void DifferenceFinder::begin_range(std::uint64_t position) {
  if (ranges_ == 0 || position >= last_.place.end)
    last_.place = storage::torch::place_in_archive(layout_, position);
  last_.begin = position;
  last_.wrong_bytes = 0;
  ++ranges_;
  if (ranges_ <= kMostRanges) kept_.push_back(last_);
  if (last_.place.part == ArchivePart::kPayload) wrong_payloads_.insert(*last_.place.record);
}

}  // namespace ckptsim::simulator
