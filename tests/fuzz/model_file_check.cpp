// A model's file, which a run names by its path.
#include <string>

#include "simulator/config/run_config.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/config_promises.h"
#include "tests/fuzz/memory_file.h"

namespace ckptsim::fuzz {

const MemoryLimit kMemoryLimit = {1024, 4 << 20};

bool check(std::span<const std::byte> input) {
  const MemoryFile file(input);
  return is_sound_config([&] {
    return simulator::parse_run_config(R"({"name": "run"})", "run.json", {"model=" + file.path().string()});
  });
}

}  // namespace ckptsim::fuzz
