#include "simulator/config/schema_check.h"

#include <gmock/gmock.h>

#include "tests/simulator/config/config_testing.h"

namespace ckptsim::simulator {
namespace {

// A schema of the same keywords as the shipped one, small enough to see what each message is made of.
const char* const kSchemaText = R"({
  "type": "object", "title": "an object", "additionalProperties": false, "required": ["name"],
  "properties": {
    "name": {"type": "string", "pattern": "^[a-z]+$", "title": "a lower-case word"},
    "checkpoint": {"type": "object", "additionalProperties": false, "properties": {
      "fsync": {"enum": ["file", "off"]},
      "count": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 9}, {"enum": ["auto"]}]}}},
    "storage": {"type": "object", "additionalProperties": false, "required": ["depth"], "properties": {
      "depth": {"type": "integer", "minimum": 0, "maximum": 1024},
      "targets": {"type": "array", "items": {"type": "string"}}}}}})";

std::string check(const std::string& document) {
  return error_of([&] {
    check_against_schema(Json::parse(kSchemaText), Json::parse(document),
                         [](const KeyPath&) { return "a.json"; });
    return 0;
  });
}

TEST(SchemaCheck, AcceptsWhatTheSchemaAllows) {
  EXPECT_EQ(check(R"({"name": "x"})"), "no error");
  EXPECT_EQ(check(R"({"name": "x", "checkpoint": {"fsync": "off", "count": "auto"},
                      "storage": {"depth": 1024, "targets": ["a"]}})"),
            "no error");
}

TEST(SchemaCheck, SuggestsTheNearestKeyWithItsWholePath) {
  EXPECT_EQ(
      check(R"({"name": "x", "checkpoint": {"fsnyc": "off"}})"),
      "/checkpoint/fsnyc | a.json: checkpoint.fsnyc is not a known key; did you mean checkpoint.fsync?");
  EXPECT_EQ(check(R"({"nmae": "x"})"), "/nmae | a.json: nmae is not a known key; did you mean name?");
}

TEST(SchemaCheck, FindsAKeyThatStandsInTheWrongSection) {
  EXPECT_EQ(check(R"({"name": "x", "fsync": "off"})"),
            "/fsync | a.json: fsync is not a known key; did you mean checkpoint.fsync?");
}

TEST(SchemaCheck, ListsTheKnownKeysWhereNoneIsNear) {
  EXPECT_EQ(check(R"({"name": "x", "checkpoint": {"zzzz": 1}})"),
            "/checkpoint/zzzz | a.json: checkpoint.zzzz is not a known key; the known ones in checkpoint are "
            "count, "
            "fsync");
  EXPECT_EQ(check(R"({"name": "x", "": 1})"),
            "/ | a.json: \"\" is not a known key; the known ones are checkpoint, name, storage");
}

TEST(SchemaCheck, ExplainsDottedKeysInFiles) {
  EXPECT_EQ(
      check(R"({"name": "x", "storage.depth": 1})"),
      "/storage.depth | a.json: the key \"storage.depth\" has dots, which only --set takes; in a file write "
      "objects within objects");
}

TEST(SchemaCheck, NamesAMissingKeyAndWhatItTakes) {
  EXPECT_EQ(check("{}"), "/name | a.json: name is missing; add it: a lower-case word");
  EXPECT_EQ(check(R"({"name": "x", "storage": {}})"),
            "/storage/depth | a.json: storage.depth is missing; add it: an integer from 0 to 1024");
}

TEST(SchemaCheck, ComposesTheMessageForAValueFromTheSchema) {
  EXPECT_EQ(check(R"({"name": "x", "storage": {"depth": "four"}})"),
            "/storage/depth | a.json: storage.depth must be an integer from 0 to 1024, not \"four\"");
  EXPECT_EQ(check(R"({"name": "x", "storage": {"depth": 1025}})"),
            "/storage/depth | a.json: storage.depth must be an integer from 0 to 1024, not 1025");
  EXPECT_EQ(check(R"({"name": "x", "checkpoint": {"count": 0}})"),
            "/checkpoint/count | a.json: checkpoint.count must be an integer from 1 to 9 or \"auto\", not 0");
  EXPECT_EQ(check(R"({"name": "X"})"), "/name | a.json: name must be a lower-case word, not \"X\"");
  EXPECT_EQ(check(R"({"name": "x", "storage": {"depth": 1, "targets": ["a", 3]}})"),
            "/storage/targets/1 | a.json: storage.targets[1] must be a text in double quotes, not 3");
  EXPECT_EQ(check(R"({"name": "x", "storage": 3})"),
            "/storage | a.json: storage must be an object with keys of its own, not 3");
  EXPECT_EQ(check("[]"), " | a.json: the configuration must be an object, not []");
}

TEST(SchemaCheck, SaysWhatThisVersionSupportsOfAClosedSet) {
  EXPECT_EQ(
      check(R"({"name": "x", "checkpoint": {"fsync": "end"}})"),
      "/checkpoint/fsync | a.json: checkpoint.fsync must be \"file\" or \"off\", which is what this version "
      "supports, not \"end\"");
}

// The validator holds integers in 64 signed bits: nothing above may come out as something valid below.
TEST(SchemaCheck, RefusesIntegersBeyond64Bits) {
  for (const char* const number : {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                                   "18446744073709551617", "-9223372036854775809", "1e300", "-1"}) {
    EXPECT_THAT(
        check(R"({"name": "x", "storage": {"depth": )" + std::string(number) + "}}"),
        testing::StartsWith("/storage/depth | a.json: storage.depth must be an integer from 0 to 1024, not "))
        << number;
  }
}

TEST(SchemaCheck, AsksWhereTheValueCameFrom) {
  const auto origin_of = [](const KeyPath& path) { return "from " + dotted(path); };
  EXPECT_THAT(error_of([&] {
                check_against_schema(Json::parse(kSchemaText), Json::parse(R"({"name": 1})"), origin_of);
                return 0;
              }),
              testing::StartsWith("/name | from name: "));
}

}  // namespace
}  // namespace ckptsim::simulator
