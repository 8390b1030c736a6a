#pragma once

#include <cstdint>
#include <string>

#include "simulator/config/run_config.h"

namespace ckptsim::simulator {

// Which checkpoint of a run.
struct Position {
  std::int64_t pass = 1;  // from 1; warm-up passes count by themselves
  bool warmup = false;
  std::int64_t checkpoint = 1;  // within the pass, from 1
  friend bool operator==(const Position&, const Position&) = default;
};

// How many checkpoints a run writes, warm-ups included.
[[nodiscard]] std::uint64_t checkpoints_of(const CheckpointConfig& config, std::int64_t checkpoints_per_pass);

// How many of them have been read back once `finished` are finished.
[[nodiscard]] std::uint64_t loads_of(const CheckpointConfig& config, std::uint64_t finished,
                                     std::int64_t checkpoints_per_pass);

// The checkpoint number `ordinal` of a run, from 0: warm-up passes first.
[[nodiscard]] Position position_of(std::uint64_t ordinal, const CheckpointConfig& config,
                                   std::int64_t checkpoints_per_pass);

// "checkpoint 2 of pass 1", "checkpoint 1 of warm-up pass 2".
[[nodiscard]] std::string position_words(const Position& position);

}  // namespace ckptsim::simulator
