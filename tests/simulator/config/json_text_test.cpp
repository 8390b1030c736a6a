#include "simulator/config/json_text.h"

#include <gmock/gmock.h>

#include "tests/simulator/config/config_testing.h"

namespace ckptsim::simulator {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string parse_error(const std::string& text) {
  return error_of([&] { return parse_json(text, "run.json"); });
}

TEST(JsonText, NamesFileLineAndColumnOfASyntaxError) {
  EXPECT_THAT(parse_error("{\n  \"a\": 1,\n  \"b\" 2\n}"),
              StartsWith(" | run.json: line 3, column 7: syntax error while parsing object separator"));
  EXPECT_THAT(parse_error(""), StartsWith(" | run.json: line 1, column 1: "));
  EXPECT_THAT(parse_error("{} x"), StartsWith(" | run.json: line 1, column 4: "));
}

TEST(JsonText, CountsColumnsInCharactersNotBytes) {
  EXPECT_THAT(parse_error("{\"\u00e4\u00f6\u00fc\" x"), StartsWith(" | run.json: line 1, column 8: "));
}

TEST(JsonText, CutsALongTokenOutOfTheMessage) {
  EXPECT_LT(parse_error("[\"" + std::string(100000, 'x')).size(), 500U);
  EXPECT_LT(parse_error("[1" + std::string(100000, '0') + "]").size(), 500U);
}

TEST(JsonText, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(
      parse_error(R"({"storage": {"queue_depth": 1, "queue_depth": 2}})"),
      "/storage/queue_depth | run.json: storage.queue_depth stands twice in one object; keep one of the two");
  EXPECT_EQ(parse_error(R"({"a": {"x": 1}, "b": {"x": 1}, "x": [{"x": 1}, {"x": 1}]})"), "no error");
}

TEST(JsonText, RefusesDeepNestingWithoutRecursing) {
  const std::string deep(100000, '[');
  EXPECT_THAT(parse_error(deep), HasSubstr("is nested more than 32 levels deep"));
  EXPECT_EQ(parse_error(std::string(kDeepestNesting, '[') + std::string(kDeepestNesting, ']')), "no error");
}

TEST(JsonText, RefusesADocumentThatIsTooLarge) {
  const std::string at_limit = "1" + std::string(kLargestDocumentBytes - 1, ' ');
  EXPECT_EQ(parse_error(at_limit), "no error");
  EXPECT_THAT(parse_error(at_limit + " "), HasSubstr("is larger than 1048576 bytes"));
}

TEST(JsonText, TakesWholeNumbersInAnyNotationForIntegers) {
  EXPECT_TRUE(parse_json("4.0", "").is_number_integer());
  EXPECT_EQ(parse_json("4e2", "").dump(), "400");
  EXPECT_EQ(parse_json("-0", "").dump(), "0");
  EXPECT_EQ(parse_json("-0.0", "").dump(), "0");
  EXPECT_TRUE(parse_json("4.5", "").is_number_float());
  EXPECT_TRUE(parse_json("1e300", "").is_number_float());
}

TEST(JsonText, RefusesNumbersThatNoDoubleHolds) {
  EXPECT_EQ(parse_error(R"({"scale": 1e400})"),
            "/scale | run.json: scale has a number larger than any key takes, '1e400'; write a smaller one");
  EXPECT_THAT(parse_error("NaN"), HasSubstr("line 1, column"));
  EXPECT_THAT(parse_error("Infinity"), HasSubstr("line 1, column"));
}

TEST(JsonText, RefusesControlCharactersThatWouldCutAPath) {
  EXPECT_EQ(parse_error(R"({"name": "a\u0000b"})"),
            "/name | run.json: name holds a control character (a line break, a tab or a NUL); remove it");
  EXPECT_THAT(parse_error(R"({"a\nb": 1})"), HasSubstr("control character"));
}

TEST(JsonText, RefusesTextsLongerThanAPath) {
  EXPECT_EQ(parse_error("\"" + std::string(kLongestTextBytes, 'x') + "\""), "no error");
  EXPECT_THAT(parse_error("\"" + std::string(kLongestTextBytes + 1, 'x') + "\""),
              HasSubstr("more than 4096 bytes"));
}

TEST(JsonText, RefusesWhatIsNotUtf8) {
  EXPECT_THAT(parse_error("\"\xff\""), HasSubstr("line 1, column 2"));
  EXPECT_EQ(error_of([] {
              require_plain_text("\xff", {"name"}, "--set");
              return 0;
            }),
            "/name | --set: name is not UTF-8; JSON can hold no other text");
}

TEST(JsonText, SaysWhereTextStandsInALargerDocument) {
  EXPECT_THAT(error_of([] { return parse_json("{\"a\":", "--set", {"model"}); }),
              StartsWith("/model | --set: model is not JSON: line 1, column 6: "));
}

TEST(JsonText, ShowsLongValuesCutBetweenCharacters) {
  EXPECT_EQ(shown("four"), "\"four\"");
  std::string umlauts;
  for (int i = 0; i < 100; ++i) {
    umlauts += "\u00e4";
  }
  const std::string cut = shown(umlauts);
  EXPECT_EQ(cut, "\"" + umlauts.substr(0, 78) + "...");
}

}  // namespace
}  // namespace ckptsim::simulator
