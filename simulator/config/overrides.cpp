#include "simulator/config/overrides.h"

#include <fmt/format.h>

#include "models/errors.h"
#include "simulator/config/schema_check.h"
#include "simulator/config/schema_tree.h"

namespace ckptsim::simulator {
namespace {

// An opened bracket is meant as JSON even where it is broken: the syntax error says more than "not a model's
// name".
bool is_meant_as_json(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n\r");
  if (first == std::string::npos || text[first] == '"') {
    return false;
  }
  return text[first] == '{' || text[first] == '[' || Json::accept(text);
}

Json value_of(const Json& schema, const KeyPath& path, const std::string& text) {
  const Json& key_schema = *schema_at(schema, path);
  if (is_meant_as_json(text) && allows_other_than_text(key_schema)) {
    return parse_json(text, kOverrideOrigin, path);
  }
  require_plain_text(text, path, kOverrideOrigin);
  if (!allows_text(key_schema)) {
    refuse_value(schema, path, text, kOverrideOrigin);
  }
  return text;
}

void refuse_list_entry(const Json& schema, const KeyPath& path) {
  for (std::size_t length = 1; length < path.size(); ++length) {
    const KeyPath list(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length));
    const Json* list_schema = schema_at(schema, list);
    if (list_schema != nullptr && list_schema->contains("items")) {
      throw ConfigError(json_pointer(list),
                        fmt::format("{0}: {1} is set as a whole, such as {1}=[\"a\", \"b\"]", kOverrideOrigin,
                                    dotted(list)));
    }
  }
}

}  // namespace

Override parse_override(const Json& schema, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw ConfigError("",
                      fmt::format("{}: {} is not of the form key.key=value, such as storage.queue_depth=8",
                                  kOverrideOrigin, shown(text)));
  }
  const KeyPath path = split_dotted(text.substr(0, equals));
  require_plain_text(text.substr(0, equals), {}, kOverrideOrigin);
  refuse_list_entry(schema, path);
  if (schema_at(schema, path) == nullptr) {
    refuse_unknown_key(schema, path, kOverrideOrigin);
  }
  return {path, value_of(schema, path, text.substr(equals + 1))};
}

void apply_override(const Json& schema, const Override& override, Json& document,
                    const std::string& document_origin) {
  Json* at = &document;
  KeyPath path;
  for (const std::string& key : override.path) {
    if (!at->is_object()) {
      refuse_value(schema, path, *at, document_origin);
    }
    const bool is_last = path.size() + 1 == override.path.size();
    at = &at->emplace(key, is_last ? override.value : Json::object()).first.value();
    path.push_back(key);
  }
  *at = override.value;
}

}  // namespace ckptsim::simulator
