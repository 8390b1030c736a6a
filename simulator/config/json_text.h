#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "simulator/config/key_path.h"

// Internal to simulator/config: the JSON library stays behind this folder's sources.
namespace ckptsim::simulator {

using Json = nlohmann::json;

// Far beyond any configuration, and small enough that a wrong file is refused at once.
inline constexpr std::size_t kLargestDocumentBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kDeepestNesting = 32;
inline constexpr std::size_t kLongestTextBytes = 4096;  // a path's limit (PATH_MAX)

// Reads JSON. Whole numbers written as 4.0 or 4e0 become integers, as JSON Schema counts them. Throws
// ConfigError that names `origin`: for a syntax error with line and column; for a key that stands twice in
// one object; for a text that holds control characters (a file name would end at a NUL) or passes the limits
// above; for a number too large.
// `at` is where the text stands in a larger document; errors begin their paths there.
[[nodiscard]] Json parse_json(const std::string& text, const std::string& origin, const KeyPath& at = {});

// Throws ConfigError unless `text` is UTF-8, within the limit and without control characters.
void require_plain_text(const std::string& text, const KeyPath& path, const std::string& origin);

// The value as JSON for a message, cut where it is long.
[[nodiscard]] std::string shown(const Json& value);

}  // namespace ckptsim::simulator
