#include "storage/text/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace ckptsim::storage {
namespace {

using namespace std::string_literals;

TEST(Printable, LeavesOrdinaryTextAlone) {
  for (const std::string& text :
       {""s, "layer.0.weight"s, "C:\\data \"x\" 'y' | ~"s, "Gewichte für \u03b1, \u5c42, \U0001f600"s})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesWhatMovesTheCursorOrForgesALine) {
  EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(printable("one\ntwo\r\t\b\x7f\0end"s), "one\\x0atwo\\x0d\\x09\\x08\\x7f\\x00end");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u{9b}31m");  // the eight-bit form of ESC [
}

TEST(Printable, EscapesWhatHidesOrReordersText) {
  EXPECT_EQ(printable("gpj.\u202egnp"), "gpj.\\u{202e}gnp");
  EXPECT_EQ(printable("a\u200bb\ufeff\u2028\u2066"), "a\\u{200b}b\\u{feff}\\u{2028}\\u{2066}");
}

TEST(Printable, EscapesEachByteThatIsNotUtf8) {
  EXPECT_EQ(printable("\xff\x80"
                      "a\xc3"),
            "\\xff\\x80a\\xc3");
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a");                    // a line feed in a longer form
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a surrogate pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // past the last character
}

TEST(Printable, OfEveryByteIsPrintableAndStaysAsItIs) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += static_cast<char>(byte);
  const std::string shown = printable(all);
  for (const char letter : shown)
    EXPECT_TRUE(letter >= ' ' && letter <= '~') << static_cast<int>(letter);
  EXPECT_EQ(printable(shown), shown);
}

TEST(PrintableLines, KeepsLineFeedsAlone) {
  EXPECT_EQ(printable_lines("a\nb\r\x1b\n"), "a\nb\\x0d\\x1b\n");
}

TEST(PrintableBeginning, CutsAtACharactersEnd) {
  EXPECT_EQ(printable_beginning("abcdef", 6), "abcdef");
  EXPECT_EQ(printable_beginning("abcdef", 5), "abcde...");
  EXPECT_EQ(printable_beginning("ab\u5c42", 4), "ab...");
  EXPECT_EQ(printable_beginning(std::string(9, '\x80'), 4), "\\x80...");
}

}  // namespace
}  // namespace ckptsim::storage
