#include "simulator/plan/content_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/errors.h"
#include "storage/content/block_generator.h"
#include "storage/content/repeats.h"

namespace ckptsim::simulator {
namespace {

constexpr std::uint64_t kBlockBytes = storage::kContentBlockBytes;

// Different blocks that the pool can come to, in bytes.
double pool_bytes(const RunConfig& config) {
  constexpr double kinds_of_values = 4;  // storage::ValueKind: a pool each
  const std::uint64_t places = kBlockBytes / std::min(kBlockBytes, config.storage.alignment_bytes);
  const double kinds = config.content_kind == "weights" ? kinds_of_values : 1;
  return config.content_duplicate_fraction * static_cast<double>(storage::kPoolBlocks * kBlockBytes) *
         static_cast<double>(places) * kinds;
}

}  // namespace

storage::ContentSettings content_settings(const RunConfig& config) {
  return {.kind = config.content_kind == "weights" ? storage::ContentKind::kWeights
                                                   : storage::ContentKind::kRandom,
          .compressible_fraction = config.content_compressible_fraction,
          .duplicate_fraction = config.content_duplicate_fraction};
}

void check_duplicates(const RunConfig& config, std::uint64_t payload_bytes) {
  constexpr double pools_in_a_checkpoint = 200;
  const double needed = pool_bytes(config) * pools_in_a_checkpoint;
  if (static_cast<double>(payload_bytes) >= needed) return;
  const char* const advice = config.storage.alignment_bytes < kBlockBytes
                                 ? "set storage.alignment_bytes to 4096, or raise scale"
                                 : "raise scale";
  throw ConfigError("/content/duplicate_fraction",
                    fmt::format("content.duplicate_fraction {} with storage.alignment_bytes {} needs a "
                                "checkpoint of {:.2f} GB, and this one has {:.2f} GB; {}",
                                config.content_duplicate_fraction, config.storage.alignment_bytes,
                                needed / 1e9, static_cast<double>(payload_bytes) / 1e9, advice));
}

}  // namespace ckptsim::simulator
