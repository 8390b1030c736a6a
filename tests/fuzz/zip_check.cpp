#include <string_view>

#include "storage/errors.h"
#include "storage/torch/zip_reader.h"
#include "tests/fuzz/archive_promises.h"
#include "tests/fuzz/check.h"

namespace ckptsim::fuzz {

const MemoryLimit kMemoryLimit = {16, 65536};

bool check(std::span<const std::byte> input) {
  const std::string_view bytes(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    const storage::torch::WindowSource file("archive.pt", bytes.size(), 0, bytes);
    require_sound_records(storage::torch::read_zip(file).records, input.size());
    return true;
  } catch (const storage::FormatError& error) {
    require_short_and_printable(error.what());
    return false;
  }
}

}  // namespace ckptsim::fuzz
