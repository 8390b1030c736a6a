#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/target/make_target.h"

namespace ckptsim::test {

// Bytes of which no two neighbouring pages are alike.
std::string content(std::uint64_t size_bytes, unsigned seed = 1);

// Drives a target as the engine does, one file at a time.
class TargetDriver {
 public:
  explicit TargetDriver(storage::Target& target) : target_(target) {}

  // Submits a request that is no write, and waits for its completion. Nothing else may be pending.
  storage::Completion run(storage::Request request);

  storage::Completion open(int file, const std::string& path,
                           storage::OpenMode mode = storage::OpenMode::kNew);
  storage::Completion simple(storage::Request::Kind kind, int file, std::uint64_t length = 0);

  // Writes `bytes` from `offset` on in blocks, up to the queue depth of them in flight, the last one padded
  // with 0xEE to the alignment. The completions in order of arrival.
  std::vector<storage::Completion> write(int file, const std::string& bytes, std::uint64_t offset = 0);

  // Opens, writes, sets the length, syncs if asked to, closes. Returns the first error.
  std::error_code write_file(const std::string& path, const std::string& bytes, bool sync = true,
                             storage::OpenMode mode = storage::OpenMode::kNew);

  // A block of 0x5A, submitted; its completion is left to arrive.
  void submit_block(int file, std::uint64_t offset);

 private:
  storage::Target& target_;
};

}  // namespace ckptsim::test
