#pragma once

#include <functional>
#include <string>

#include "simulator/config/json_text.h"
#include "simulator/config/key_path.h"

// Internal to simulator/config.
namespace ckptsim::simulator {

// Where the value at a path came from, for errors: a file's name or "--set".
using OriginOf = std::function<std::string(const KeyPath&)>;

// Throws ConfigError for the first thing in `document` that `schema` does not allow: an unknown key, with the
// nearest known one; a missing key; a value, with what it must be in the schema's words.
void check_against_schema(const Json& schema, const Json& document, const OriginOf& origin_of);

// The errors themselves, for values that never get into a document.
[[noreturn]] void refuse_unknown_key(const Json& schema, const KeyPath& path, const std::string& origin);
[[noreturn]] void refuse_value(const Json& schema, const KeyPath& path, const Json& value,
                               const std::string& origin);

}  // namespace ckptsim::simulator
