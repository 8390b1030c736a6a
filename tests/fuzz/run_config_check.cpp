// A run's configuration and what the command line sets over it: texts parted by NUL, the configuration first.
#include <string>
#include <vector>

#include "simulator/config/run_config.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/config_promises.h"

namespace ckptsim::fuzz {

// The schema and the documents that ship with the program are held besides the input.
const MemoryLimit kMemoryLimit = {1024, 4 << 20};

bool check(std::span<const std::byte> input) {
  std::vector<std::string> texts(1);
  for (const std::byte byte : input) {
    if (byte == std::byte{0}) {
      texts.emplace_back();
    } else {
      texts.back().push_back(static_cast<char>(byte));
    }
  }
  const std::vector<std::string> overrides(texts.begin() + 1, texts.end());
  return is_sound_config([&] { return simulator::parse_run_config(texts.front(), "run.json", overrides); });
}

}  // namespace ckptsim::fuzz
