#include <gmock/gmock.h>

#include <set>

#include "simulator/config/documents.h"
#include "simulator/config/resources.h"
#include "simulator/config/run_config.h"
#include "simulator/config/schema_check.h"
#include "simulator/config/schema_tree.h"

namespace ckptsim::simulator {
namespace {

const std::set<std::string>& types() {
  static const std::set<std::string> names = {"array", "boolean", "integer", "number", "object", "string"};
  return names;
}

// A keyword that the code does not know of would be checked but not explained.
const std::set<std::string>& keywords() {
  static const std::set<std::string> names = {"$schema",
                                              "additionalProperties",
                                              "anyOf",
                                              "default",
                                              "description",
                                              "enum",
                                              "exclusiveMinimum",
                                              "items",
                                              "maxItems",
                                              "maximum",
                                              "maxLength",
                                              "minLength",
                                              "minimum",
                                              "multipleOf",
                                              "pattern",
                                              "properties",
                                              "required",
                                              "title",
                                              "type"};
  return names;
}

template <typename Visit>
void visit_schemas(const Json& schema, const std::string& where, const Visit& visit) {
  visit(schema, where);
  if (schema.contains("properties")) {
    for (const auto& [key, property] : schema["properties"].items()) {
      visit_schemas(property, std::string(where).append("/").append(key), visit);
    }
  }
  if (schema.contains("items")) {
    visit_schemas(schema["items"], where + "/items", visit);
  }
  for (const Json& choice : schema.value("anyOf", Json::array())) {
    visit_schemas(choice, where + "/anyOf", visit);
  }
}

TEST(RunSchema, IsDraft7AndUsesOnlyKeywordsThatErrorsCanExplain) {
  EXPECT_EQ(run_schema().at("$schema"), "http://json-schema.org/draft-07/schema#");
  visit_schemas(run_schema(), "", [](const Json& schema, const std::string& where) {
    for (const auto& [keyword, ignored] : schema.items()) {
      EXPECT_EQ(keywords().count(keyword), 1U) << where << " " << keyword;
    }
    const Json type = schema.value("type", Json::array());
    for (const Json& name : type.is_array() ? type : Json::array({type})) {
      EXPECT_EQ(types().count(name.get<std::string>()), 1U) << where;
    }
  });
}

TEST(RunSchema, EveryKeyHasADescriptionAndAType) {
  const std::vector<KeyPath> keys = known_keys(run_schema());
  EXPECT_GT(keys.size(), 40U);
  for (const KeyPath& key : keys) {
    const Json& schema = *schema_at(run_schema(), key);
    EXPECT_GT(schema.value("description", "").size(), 20U) << dotted(key);
    EXPECT_TRUE(schema.contains("type") || schema.contains("enum") || schema.contains("anyOf"))
        << dotted(key);
  }
}

TEST(RunSchema, EveryObjectRefusesUnknownKeysAndRequiresOnlyKnownOnes) {
  visit_schemas(run_schema(), "", [](const Json& schema, const std::string& where) {
    if (!schema.contains("properties")) {
      return;
    }
    EXPECT_EQ(schema.value("additionalProperties", true), false) << where;
    for (const Json& key : schema.value("required", Json::array())) {
      EXPECT_TRUE(schema["properties"].contains(key.get<std::string>())) << where << " " << key;
    }
  });
}

// So that neither can drift: what the schema promises is what a run without the key does.
TEST(RunSchema, DefaultsAreThoseOfRunConfig) {
  const RunConfig minimal = parse_run_config(R"({"name": "x", "model": "llama3.1-8b"})", "minimal", {});
  const Json effective = Json::parse(effective_config(minimal));
  std::size_t defaults = 0;
  for (const KeyPath& key : known_keys(run_schema())) {
    const Json& schema = *schema_at(run_schema(), key);
    if (key.front() == "$schema" || key.front() == "name" || key.front() == "model" ||
        schema.contains("properties")) {
      continue;
    }
    ASSERT_TRUE(schema.contains("default")) << dotted(key);
    EXPECT_EQ(effective.at(Json::json_pointer(json_pointer(key))), schema["default"]) << dotted(key);
    ++defaults;
  }
  EXPECT_GT(defaults, 30U);
}

TEST(RunSchema, EveryShippedModelIsValid) {
  for (const std::string& name : resource_names("models")) {
    const Document model = find_document("models", name, {}, {});
    EXPECT_NO_THROW(check_against_schema(model_schema(), model.value, [&](const KeyPath&) { return name; }))
        << name;
    EXPECT_EQ(model.value["name"], name);
  }
}

}  // namespace
}  // namespace ckptsim::simulator
