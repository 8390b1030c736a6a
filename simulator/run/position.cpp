#include "simulator/run/position.h"

#include <fmt/format.h>

namespace ckptsim::simulator {

std::uint64_t checkpoints_of(const CheckpointConfig& config, std::int64_t checkpoints_per_pass) {
  return static_cast<std::uint64_t>(config.warmup_passes + config.passes) *
         static_cast<std::uint64_t>(checkpoints_per_pass);
}

std::uint64_t loads_of(const CheckpointConfig& config, std::uint64_t finished,
                       std::int64_t checkpoints_per_pass) {
  if (config.load == "each") return finished;
  const bool written = finished == checkpoints_of(config, checkpoints_per_pass);
  return config.load == "end" && written ? static_cast<std::uint64_t>(checkpoints_per_pass) : 0;
}

Position position_of(std::uint64_t ordinal, const CheckpointConfig& config,
                     std::int64_t checkpoints_per_pass) {
  const auto per_pass = static_cast<std::uint64_t>(checkpoints_per_pass);
  const auto pass = static_cast<std::int64_t>(ordinal / per_pass);  // from 0, over warm-ups and passes
  const bool warmup = pass < config.warmup_passes;
  return {.pass = 1 + pass - (warmup ? 0 : config.warmup_passes),
          .warmup = warmup,
          .checkpoint = 1 + static_cast<std::int64_t>(ordinal % per_pass)};
}

std::string position_words(const Position& position) {
  return fmt::format("checkpoint {} of {} {}", position.checkpoint, position.warmup ? "warm-up pass" : "pass",
                     position.pass);
}

}  // namespace ckptsim::simulator
