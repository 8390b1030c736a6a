#include "simulator/config/schema_tree.h"

#include <gmock/gmock.h>

namespace ckptsim::simulator {
namespace {

std::string described(const char* schema) {
  return describe(Json::parse(schema));
}

TEST(SchemaTree, DescribesNumbersByTheirLimits) {
  EXPECT_EQ(described(R"({"type": "integer", "minimum": 1, "maximum": 1024})"), "an integer from 1 to 1024");
  EXPECT_EQ(described(R"({"type": "number", "exclusiveMinimum": 0, "maximum": 1})"),
            "a number above 0 and at most 1");
  EXPECT_EQ(described(R"({"type": "number", "exclusiveMinimum": 0})"), "a number above 0");
  EXPECT_EQ(described(R"({"type": "integer", "minimum": 1})"), "an integer of at least 1");
  EXPECT_EQ(described(R"({"type": "integer", "minimum": 8, "maximum": 64, "multipleOf": 8})"),
            "an integer from 8 to 64 and a multiple of 8");
}

TEST(SchemaTree, DescribesChoices) {
  EXPECT_EQ(described(R"({"enum": ["file", "end", "off"]})"), R"("file", "end" or "off")");
  EXPECT_EQ(described(R"({"enum": ["none"]})"), R"("none")");
  EXPECT_EQ(described(R"({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 9}, {"enum": ["auto"]}]})"),
            R"(an integer from 1 to 9 or "auto")");
  EXPECT_EQ(described(R"({"type": ["boolean", "object"]})"),
            "true or false or an object with keys of its own");
}

TEST(SchemaTree, DescribesListsByWhatTheyHold) {
  EXPECT_EQ(described(R"({"type": "array", "maxItems": 9, "items": {"type": "string"}})"),
            "a list of at most 9 entries in square brackets, each a text in double quotes");
}

TEST(SchemaTree, PrefersTheSchemasOwnTitle) {
  EXPECT_EQ(described(R"({"type": "string", "title": "a folder name"})"), "a folder name");
}

TEST(SchemaTree, KnowsWhereTextsAreAllowed) {
  const auto text = [](const char* schema) { return allows_text(Json::parse(schema)); };
  const auto other = [](const char* schema) { return allows_other_than_text(Json::parse(schema)); };
  EXPECT_TRUE(text(R"({"type": "string"})"));
  EXPECT_FALSE(other(R"({"type": "string"})"));
  EXPECT_TRUE(text(R"({"enum": ["auto", "1.13"]})"));
  EXPECT_FALSE(other(R"({"enum": ["auto", "1.13"]})"));
  EXPECT_FALSE(text(R"({"enum": [0, 1, 3]})"));
  EXPECT_TRUE(text(R"({"type": ["string", "object"]})"));
  EXPECT_TRUE(other(R"({"type": ["string", "object"]})"));
  EXPECT_TRUE(text(R"({"anyOf": [{"type": "integer"}, {"enum": ["auto"]}]})"));
  EXPECT_TRUE(other(R"({"anyOf": [{"type": "integer"}, {"enum": ["auto"]}]})"));
  EXPECT_FALSE(text(R"({"type": "array", "items": {"type": "string"}})"));
}

TEST(SchemaTree, FindsKeysAtAnyDepth) {
  const Json schema = Json::parse(R"({"properties": {"b": {"properties": {"c": {"type": "integer"}}},
                                                     "a": {"type": "array", "items": {"type": "string"}}}})");
  EXPECT_THAT(known_keys(schema), testing::ElementsAre(KeyPath{"a"}, KeyPath{"b"}, KeyPath{"b", "c"}));
  EXPECT_EQ(*schema_at(schema, {"b", "c"}), Json::parse(R"({"type": "integer"})"));
  EXPECT_EQ(*schema_at(schema, {"a", "7"}), Json::parse(R"({"type": "string"})"));
  EXPECT_EQ(schema_at(schema, {"b", "d"}), nullptr);
  EXPECT_EQ(schema_at(schema, {}), &schema);
}

}  // namespace
}  // namespace ckptsim::simulator
