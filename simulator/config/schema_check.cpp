#include "simulator/config/schema_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

// Without this the library answers a schema that it cannot read with abort().
#define VALIJSON_USE_EXCEPTIONS 1
#include <algorithm>
#include <limits>
#include <optional>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "models/errors.h"
#include "simulator/config/nearest_name.h"
#include "simulator/config/schema_tree.h"

namespace ckptsim::simulator {
namespace {

using valijson::adapters::NlohmannJsonAdapter;

// "<root>", "[storage]", "[queue_depth]" -> storage, queue_depth.
KeyPath path_of(const valijson::ValidationResults::Error& error) {
  KeyPath path;
  for (std::size_t i = 1; i < error.context.size(); ++i) {
    const std::string& step = error.context[i];
    path.push_back(step.substr(1, step.size() - 2));
  }
  return path;
}

// The validator reports a wrong value and then every object around it: the innermost place is what is to
// blame.
KeyPath innermost_error(const valijson::ValidationResults& results) {
  KeyPath innermost;
  for (const auto& error : results) {
    KeyPath path = path_of(error);
    if (path.size() > innermost.size()) {
      innermost = std::move(path);
    }
  }
  return innermost;
}

const Json* value_at(const Json& document, const KeyPath& path) {
  const Json::json_pointer pointer(json_pointer(path));
  return document.contains(pointer) ? &document.at(pointer) : nullptr;
}

// The known key that was most likely meant: right name in another section, or nearly the right name.
std::optional<std::string> nearest_key(const Json& schema, const KeyPath& path) {
  std::optional<std::string> nearest;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  const KeyPath section(path.begin(), path.end() - 1);
  for (const KeyPath& known : known_keys(schema)) {
    const bool beside = is_within(known, section) && known.size() == path.size();
    const std::size_t slips = edit_distance(path.back(), known.back());
    const bool near =
        slips <= most_slips(path.back()) || (beside && nearest_name(path.back(), {known.back()}));
    const std::size_t distance = 2 * slips + (beside ? 0 : 1);
    if (near && distance < fewest) {
      fewest = distance;
      nearest = dotted(known);
    }
  }
  return nearest;
}

// The keys that the nearest known object around `path` takes.
std::string known_keys_around(const Json& schema, KeyPath path) {
  const Json* section = nullptr;
  while (section == nullptr || !section->contains("properties")) {
    path.pop_back();
    section = schema_at(schema, path);
  }
  std::vector<std::string> names;
  for (const auto& [key, ignored] : section->at("properties").items()) {
    names.push_back(key);
  }
  return fmt::format("the known ones{} are {}", path.empty() ? "" : fmt::format(" in {}", dotted(path)),
                     fmt::join(names, ", "));
}

// An object may lack a key or hold one too many; a value of any other kind is wrong in itself.
void explain_object(const Json& schema, const Json& object, const KeyPath& path, const OriginOf& origin_of) {
  const Json* section = schema_at(schema, path);
  if (section == nullptr || !object.is_object() || !section->contains("properties")) {
    return;
  }
  for (const auto& [key, ignored] : object.items()) {
    if (!section->at("properties").contains(key)) {
      refuse_unknown_key(schema, below(path, key), origin_of(below(path, key)));
    }
  }
  for (const Json& key : section->value("required", Json::array())) {
    const KeyPath missing = below(path, key.get<std::string>());
    if (!object.contains(missing.back())) {
      throw ConfigError(json_pointer(missing),
                        fmt::format("{}: {} is missing; add it: {}", origin_of(missing), dotted(missing),
                                    describe(*schema_at(schema, missing))));
    }
  }
}

}  // namespace

void refuse_unknown_key(const Json& schema, const KeyPath& path, const std::string& origin) {
  const std::string name = shown(dotted(path));
  const std::string pointer = json_pointer(path);
  if (path.back().find('.') != std::string::npos && schema_at(schema, split_dotted(path.back())) != nullptr) {
    throw ConfigError(pointer, fmt::format("{}: the key {} has dots, which only --set takes; in a file write "
                                           "objects within objects",
                                           origin, name));
  }
  // Quotes would only get in the way, unless there is nothing else to see.
  const std::string plain = dotted(path).empty() ? name : name.substr(1, name.size() - 2);
  if (const auto nearest = nearest_key(schema, path)) {
    throw ConfigError(pointer,
                      fmt::format("{}: {} is not a known key; did you mean {}?", origin, plain, *nearest));
  }
  throw ConfigError(
      pointer, fmt::format("{}: {} is not a known key; {}", origin, plain, known_keys_around(schema, path)));
}

void refuse_value(const Json& schema, const KeyPath& path, const Json& value, const std::string& origin) {
  const Json& expected = *schema_at(schema, path);
  const bool closed_set = expected.contains("enum");
  throw ConfigError(json_pointer(path),
                    fmt::format("{}: {} must be {}, {}not {}", origin,
                                path.empty() ? "the configuration" : dotted(path), describe(expected),
                                closed_set ? "which is what this version supports, " : "", shown(value)));
}

void check_against_schema(const Json& schema, const Json& document, const OriginOf& origin_of) {
  valijson::Schema rules;
  valijson::SchemaParser().populateSchema(NlohmannJsonAdapter(schema), rules);
  valijson::ValidationResults results;
  if (valijson::Validator().validate(rules, NlohmannJsonAdapter(document), &results)) {
    return;
  }
  const KeyPath path = innermost_error(results);
  const Json* value = value_at(document, path);
  if (value == nullptr || schema_at(schema, path) == nullptr) {
    throw ConfigError(json_pointer(path), fmt::format("{}: {} is not valid", origin_of(path), dotted(path)));
  }
  explain_object(schema, *value, path, origin_of);
  refuse_value(schema, path, *value, origin_of(path));
}

}  // namespace ckptsim::simulator
