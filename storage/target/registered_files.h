#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace ckptsim::storage {

// Which open file has which place in a ring's table of registered files. A file gets one with its first
// transfer and keeps it until it is closed, or until another needs it while nothing of the file is in flight.
// The table has one place more than files may have transfers in flight. One thread.
class RegisteredFiles {
 public:
  explicit RegisteredFiles(std::size_t slots) : slots_(slots) {}

  struct Place {
    unsigned slot = 0;
    bool is_new = false;  // the ring has yet to be told
  };
  [[nodiscard]] Place transfer_begins(int file);
  void transfer_ended(int file);  // nothing happens for a file without a place

  // The place that a closed file leaves empty, if it had one. Nothing of the file may be in flight.
  [[nodiscard]] std::optional<unsigned> forget(int file);

 private:
  struct Slot {
    int file = -1;  // -1: empty
    std::size_t in_flight = 0;
    std::size_t last_use = 0;
  };
  [[nodiscard]] Slot* find(int file);

  std::vector<Slot> slots_;
  std::size_t uses_ = 0;
};

}  // namespace ckptsim::storage
