#pragma once

#include <string>
#include <vector>

#include "simulator/config/json_text.h"
#include "simulator/config/key_path.h"

// Internal to simulator/config: what a JSON Schema says about its keys, for the keywords that configs/schema
// uses.
namespace ckptsim::simulator {

// The schema of the value at `path`; nullptr where the schema knows no such key.
[[nodiscard]] const Json* schema_at(const Json& schema, const KeyPath& path);

// Every key that `schema` knows, sections and what is in them, in the order of their names.
[[nodiscard]] std::vector<KeyPath> known_keys(const Json& schema);

// Whether a text can be valid there; whether something else can.
[[nodiscard]] bool allows_text(const Json& schema);
[[nodiscard]] bool allows_other_than_text(const Json& schema);

// What a value must be, as a sentence goes on after "must be": "an integer from 1 to 1024".
[[nodiscard]] std::string describe(const Json& schema);

}  // namespace ckptsim::simulator
