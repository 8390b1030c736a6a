#include <string_view>

#include "storage/errors.h"
#include "storage/torch/pickle_reader.h"
#include "tests/fuzz/archive_promises.h"
#include "tests/fuzz/check.h"

namespace ckptsim::fuzz {

const MemoryLimit kMemoryLimit = {512, 65536};

bool check(std::span<const std::byte> input) {
  try {
    require_sound_tensors(
        storage::torch::read_pickle({reinterpret_cast<const char*>(input.data()), input.size()}).tensors);
    return true;
  } catch (const storage::FormatError& error) {
    require_short_and_printable(error.what());
    return false;
  }
}

}  // namespace ckptsim::fuzz
