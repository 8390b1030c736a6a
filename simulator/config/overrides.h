#pragma once

#include <string>

#include "simulator/config/json_text.h"
#include "simulator/config/key_path.h"

// Internal to simulator/config.
namespace ckptsim::simulator {

inline constexpr const char* kOverrideOrigin = "--set";

// One "storage.queue_depth=8" of the command line.
struct Override {
  KeyPath path;
  Json value;
};

// Where the key takes only texts, the value is the text as it stands ("name=4",
// "storage.torch_dialect=1.13"); where it takes none, it is JSON; where it takes both (model,
// checkpoint.checkpoints_per_pass), it is JSON if it is JSON of anything but a text, and the text as it
// stands otherwise ("=4", "=auto", "=llama3.1-8b", "={...}"). Throws ConfigError for a text without '=', an
// unknown key, and a value that is not what the key takes.
[[nodiscard]] Override parse_override(const Json& schema, const std::string& text);

// Puts the value into `document`, with the objects that lead to it where they are missing. Throws
// ConfigError, naming `document_origin`, where something else stands in the place of one of them.
void apply_override(const Json& schema, const Override& override, Json& document,
                    const std::string& document_origin);

}  // namespace ckptsim::simulator
