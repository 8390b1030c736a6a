#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/config/run_config.h"

namespace ckptsim::simulator {

// The value of a key of the schema ("storage.queue_depth"), as the text that --set takes.
[[nodiscard]] std::string config_value(const RunConfig& config, const std::string& key);

// The part of a run's configuration that holds these keys and no other, as JSON text for a run's file.
[[nodiscard]] std::string config_part(const RunConfig& config, const std::vector<std::string>& keys);

// A key in which two configurations differ, with both values as JSON.
struct ConfigDifference {
  std::string key;  // "checkpoint.passes"
  std::string value;
  std::string other;
};
// The first, in the order of effective_config(); none where they are the same.
[[nodiscard]] std::optional<ConfigDifference> first_difference(const RunConfig& config,
                                                               const RunConfig& other);

}  // namespace ckptsim::simulator
