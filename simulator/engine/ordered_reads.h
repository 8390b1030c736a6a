#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "storage/target/target.h"

namespace ckptsim::simulator {

// A part of an open file, read a block at a time with as many reads in flight as the target's queue is deep,
// and handed out in order, whatever order they come back in. Several may share a target: each knows its own
// reads. One thread, one part at a time.
class OrderedReads {
 public:
  explicit OrderedReads(storage::Target& target) : target_(target) {}

  // The next part: [begin, end) of `file`, which has `file_bytes`; `end` may pass that, so that a file that
  // is longer is found out. `begin` is rounded down and `end` up to the target's alignment.
  void start(int file, const std::string& path, std::uint64_t file_bytes, std::uint64_t begin,
             std::uint64_t end);

  // The part ends at `end` already. What was submitted behind it stays in the part.
  void shorten(std::uint64_t end);

  // Whether another read can be submitted now: one is left, the queue has room and a buffer is free.
  [[nodiscard]] bool ready_to_submit();
  void submit();

  // Whether a read that came back is one of these.
  [[nodiscard]] bool owns(const storage::Completion& completion) const;

  // Submitted and not handed out to the end: each has a buffer.
  [[nodiscard]] std::size_t held() const { return in_flight_.size() + arrived_.size(); }

  // Takes a read that came back without an error. Throws FormatError where the file is shorter or longer than
  // it should be.
  void complete(storage::Completion completion);

  // The next bytes, at most `most` of them; none where they have not come yet. Valid until passed().
  [[nodiscard]] std::span<const std::byte> next(std::size_t most) const;
  void passed(std::size_t bytes);

  [[nodiscard]] bool done() const { return submitted_ >= end_ && position_ >= end_; }
  [[nodiscard]] std::uint64_t begin() const { return begin_; }  // rounded
  void abandon();                                               // gives the buffers back

 private:
  [[nodiscard]] std::uint64_t round_up(std::uint64_t offset) const;

  storage::Target& target_;
  int file_ = 0;
  std::string path_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;        // rounded
  std::uint64_t submitted_ = 0;  // up to here
  std::uint64_t position_ = 0;   // handed out up to here; end_ once the last true byte was
  storage::Buffer free_;
  std::vector<unsigned> in_flight_;                       // their buffers
  std::map<std::uint64_t, storage::Completion> arrived_;  // by offset
};

}  // namespace ckptsim::simulator
