#include "storage/target/registered_files.h"

#include <algorithm>

#include "storage/target/check.h"

namespace ckptsim::storage {

RegisteredFiles::Slot* RegisteredFiles::find(int file) {
  const auto found =
      std::find_if(slots_.begin(), slots_.end(), [file](const Slot& slot) { return slot.file == file; });
  return found == slots_.end() ? nullptr : &*found;
}

RegisteredFiles::Place RegisteredFiles::transfer_begins(int file) {
  Slot* slot = find(file);
  const bool is_new = slot == nullptr;
  if (is_new) {
    // An empty place, or the one that was idle for longest.
    const auto better = [](const Slot& a, const Slot& b) {
      const bool a_busy = a.in_flight > 0;
      const bool b_busy = b.in_flight > 0;
      return a_busy != b_busy ? b_busy : a.last_use < b.last_use;
    };
    slot = &*std::min_element(slots_.begin(), slots_.end(), better);
    check(slot->in_flight == 0, "fewer files than places have a write in flight");
    slot->file = file;
  }
  ++slot->in_flight;
  slot->last_use = ++uses_;
  return {static_cast<unsigned>(slot - slots_.data()), is_new};
}

void RegisteredFiles::transfer_ended(int file) {
  if (Slot* const slot = find(file); slot != nullptr) --slot->in_flight;
}

std::optional<unsigned> RegisteredFiles::forget(int file) {
  Slot* const slot = find(file);
  if (slot == nullptr) return std::nullopt;
  check(slot->in_flight == 0, "a file with transfers in flight is not closed");
  *slot = Slot{};
  return static_cast<unsigned>(slot - slots_.data());
}

}  // namespace ckptsim::storage
