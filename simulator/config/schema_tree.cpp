#include "simulator/config/schema_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace ckptsim::simulator {
namespace {

std::string either(const std::vector<std::string>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::string_view separator = i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ";
    text.append(separator).append(choices[i]);
  }
  return text;
}

std::vector<std::string> types_of(const Json& schema) {
  const auto type = schema.find("type");
  if (type == schema.end()) {
    return {};
  }
  return type->is_array() ? type->get<std::vector<std::string>>() : std::vector{type->get<std::string>()};
}

// Whether any value that `schema` allows is a text (or, with `text` false, something else).
bool allows(const Json& schema, bool text) {
  if (const auto values = schema.find("enum"); values != schema.end()) {
    return std::any_of(values->begin(), values->end(),
                       [text](const Json& value) { return value.is_string() == text; });
  }
  if (const auto choices = schema.find("anyOf"); choices != schema.end()) {
    return std::any_of(choices->begin(), choices->end(),
                       [text](const Json& choice) { return allows(choice, text); });
  }
  const std::vector<std::string> types = types_of(schema);
  return std::any_of(types.begin(), types.end(),
                     [text](const std::string& type) { return (type == "string") == text; });
}

// " above 0 and at most 1", " from 1 to 1024", " of at least 1": what the schema limits.
std::string describe_range(const Json& schema) {
  const auto limit = [&schema](const char* keyword, std::string_view words) {
    const auto at = schema.find(keyword);
    return at == schema.end() ? std::string() : fmt::format("{}{}", words, at->dump());
  };
  if (schema.contains("exclusiveMinimum")) {
    return limit("exclusiveMinimum", " above ") + limit("maximum", " and at most ");
  }
  if (schema.contains("maximum")) {
    return limit("minimum", " from ") + limit("maximum", " to ");
  }
  return limit("minimum", " of at least ");
}

std::string describe_number(const Json& schema, const std::string& noun) {
  std::string text = noun + describe_range(schema);
  if (const auto divisor = schema.find("multipleOf"); divisor != schema.end()) {
    text += fmt::format(" and a multiple of {}", divisor->dump());
  }
  return text;
}

std::string describe_list(const Json& schema) {
  std::string text = "a list";
  if (const auto most = schema.find("maxItems"); most != schema.end()) {
    text += fmt::format(" of at most {} entries", most->dump());
  }
  if (const auto items = schema.find("items"); items != schema.end()) {
    text += fmt::format(" in square brackets, each {}", describe(*items));
  }
  return text;
}

std::string describe_type(const Json& schema, const std::string& type) {
  if (type == "integer") {
    return describe_number(schema, "an integer");
  }
  if (type == "number") {
    return describe_number(schema, "a number");
  }
  if (type == "boolean") {
    return "true or false";
  }
  if (type == "array") {
    return describe_list(schema);
  }
  return type == "object" ? "an object with keys of its own" : "a text in double quotes";
}

void add_known_keys(const Json& schema, const KeyPath& path, std::vector<KeyPath>& keys) {
  const auto properties = schema.find("properties");
  if (properties == schema.end()) {
    return;
  }
  for (const auto& [key, sub_schema] : properties->items()) {
    const KeyPath key_path = below(path, key);  // not a reference into `keys`, which grows
    keys.push_back(key_path);
    add_known_keys(sub_schema, key_path, keys);
  }
}

}  // namespace

const Json* schema_at(const Json& schema, const KeyPath& path) {
  const Json* at = &schema;
  for (const std::string& key : path) {
    if (const auto properties = at->find("properties");
        properties != at->end() && properties->contains(key)) {
      at = &(*properties)[key];
    } else if (const auto items = at->find("items"); items != at->end()) {
      at = &*items;
    } else {
      return nullptr;
    }
  }
  return at;
}

std::vector<KeyPath> known_keys(const Json& schema) {
  std::vector<KeyPath> keys;
  add_known_keys(schema, {}, keys);
  return keys;
}

bool allows_text(const Json& schema) {
  return allows(schema, true);
}
bool allows_other_than_text(const Json& schema) {
  return allows(schema, false);
}

std::string describe(const Json& schema) {
  if (const auto title = schema.find("title"); title != schema.end()) {
    return title->get<std::string>();
  }
  std::vector<std::string> choices;
  if (const auto values = schema.find("enum"); values != schema.end()) {
    std::transform(values->begin(), values->end(), std::back_inserter(choices),
                   [](const Json& value) { return value.dump(); });
  } else if (const auto alternatives = schema.find("anyOf"); alternatives != schema.end()) {
    std::transform(alternatives->begin(), alternatives->end(), std::back_inserter(choices), describe);
  } else {
    for (const std::string& type : types_of(schema)) {
      choices.push_back(describe_type(schema, type));
    }
  }
  return either(choices);
}

}  // namespace ckptsim::simulator
