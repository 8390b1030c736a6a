// Pickles made to cost more time or memory than their size is worth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cpu_time.h"
#include "pickle_text.h"
#include "storage/errors.h"
#include "storage/torch/pickle_reader.h"

namespace ckptsim::storage::torch {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

constexpr std::size_t kMany = 300'000;

// The words of the refusal, or "read".
std::string outcome(const std::string& bytes) {
  std::string words = "read";
  const double seconds = cpu_seconds_of([&] {
    try {
      (void)read_pickle(bytes);
    } catch (const FormatError& error) {
      words = error.what();
    }
  });
  EXPECT_LT(seconds, kMostCpuSeconds);
  return words;
}

TEST(HostilePickle, ABombOfTuplesWithinTuplesIsNeverUnfolded) {
  std::string body = ")" + put(0);
  for (std::uint32_t level = 0; level < 30; ++level)
    body += get(level) + get(level) + kTuple2 + put(level + 1);
  EXPECT_LT(body.size(), 600U);
  EXPECT_THAT(outcome(pickle(body + "}" + unicode("bomb") + get(30) + "s")),
              HasSubstr("the value of 'bomb'"));
  const std::string shape = get(30);
  EXPECT_THAT(outcome(pickle(body + "}" + unicode("t") +
                             tensor_of(storage_of(integer(1)), integer(0), shape, shape))),
              HasSubstr("not an integer"));
}

TEST(HostilePickle, ABombOfDictsWithinDictsIsRefused) {
  std::string body = "}" + put(0);
  for (std::uint32_t level = 0; level < 30; ++level)
    body += "}(" + unicode("a") + get(level) + unicode("b") + get(level) + "u" + put(level + 1);
  EXPECT_THAT(outcome(pickle(body)), HasSubstr("a dict in two places"));
}

TEST(HostilePickle, AHugeTupleThatManyTensorsNameIsLookedAtOnce) {
  const std::string huge = "(" + repeated(integer(1), 1'000'000) + "t" + put(0);
  const std::string tensor = tensor_of(storage_of(integer(1)), integer(0), get(0), get(0));
  EXPECT_THAT(outcome(pickle(huge + repeated(tensor, 1000))), HasSubstr("too many dimensions"));
  EXPECT_THAT(outcome(pickle(huge + repeated(get(0), kMany))), HasSubstr("does not hold a dict"));
}

TEST(HostilePickle, CountsAndLengthsThatThePickleDoesNotHold) {
  EXPECT_THAT(outcome(pickle("}X\xff\xff\xff\xff"s)), HasSubstr("cut short"));
  EXPECT_THAT(outcome(pickle("}\x8a\xff" + std::string(255, '\x7f'))), HasSubstr("more than 64 bits"));
  EXPECT_THAT(outcome(pickle("}" + put(0xffffffff))), HasSubstr("memo slot"));
  EXPECT_THAT(outcome(pickle("}" + get(0xffffffff))), HasSubstr("a reference to nothing"));
  EXPECT_THAT(outcome(std::string(kMostPickleBytes + 1, '}')), HasSubstr("may have"));
}

// A hash table would keep these in one of its lists.
TEST(HostilePickle, MemoSlotsThatWouldCollideAreRefused) {
  std::string body = "}";
  for (std::uint32_t i = 0; i < 65536; ++i)
    body += put(i * 65537);
  EXPECT_THAT(outcome(pickle(body)), HasSubstr("memo slot"));
}

TEST(HostilePickle, AMarkIsNoValue) {
  EXPECT_THAT(outcome(pickle("}(" + put(0) + get(0) + "u")), HasSubstr("nothing on the stack"));
  EXPECT_THAT(outcome(pickle("}((\x85u")), HasSubstr("nothing on the stack"));
  EXPECT_THAT(outcome(pickle("(")), HasSubstr("nothing on the stack"));
}

TEST(HostilePickle, OneTensorUnderManyKeysIsRefused) {
  const std::string wide = "(" + repeated(integer(1), 64) + "t" + put(0);
  const std::string tensor = tensor_of(storage_of(integer(1)), integer(0), get(0), get(0)) + put(1);
  std::string body = wide + tensor + "}(";
  for (int key = 0; key < 65536; ++key)
    body += std::string{kBinInt2, static_cast<char>(key & 0xff), static_cast<char>(key >> 8), kBinGet, 1};
  EXPECT_THAT(outcome(pickle(body + "u")), HasSubstr("far longer than the pickle"));
}

TEST(HostilePickle, OneCallOfManyTensorsIsRefused) {
  const std::string shape = "(" + repeated(integer(1), 64) + "t" + put(0);
  const std::string arguments =
      "(" + storage_of(integer(1)) + integer(0) + get(0) + get(0) + "\x89}t" + put(1);
  const std::string function = "ctorch._utils\n_rebuild_tensor_v2\n"s + put(2);
  const std::string call = "h\x02h\x01R"s;
  EXPECT_THAT(outcome(pickle(shape + arguments + function + repeated(call, kMany) + "}")),
              HasSubstr("far longer than the pickle"));
}

TEST(HostilePickle, TwoValuesOfOneNameAreRefused) {
  EXPECT_THAT(outcome(pickle("}(" + unicode("a") + integer(1) + unicode("a") + integer(2) + "u")),
              HasSubstr("two values of the name 'a'"));
  EXPECT_THAT(outcome(pickle("}(" + unicode("a.b") + integer(1) + unicode("a") + "}" + unicode("b") +
                             integer(2) + "su")),
              HasSubstr("two values of the name 'a.b'"));
}

TEST(HostilePickle, WordsOfARefusalAreShortAndPrintable) {
  const std::string name = "\x1b[2J" + std::string(100'000, 'x');
  const std::vector<std::string> pickles = {pickle("c" + name + "\n" + name + "\n"),
                                            pickle("}(" + unicode(name) + ")u"),
                                            pickle("}(" + repeated(unicode(name) + integer(1), 2) + "u")};
  for (const std::string& bytes : pickles) {
    const std::string words = outcome(bytes);
    EXPECT_THAT(words, HasSubstr("\\x1b[2Jxxx"));
    EXPECT_EQ(words.find('\x1b'), std::string::npos);
    EXPECT_LT(words.size(), 600U);
  }
}

// Each of these is read, or refused, in time that grows with its length.
TEST(HostilePickle, EveryOpcodeOverAndOver) {
  const std::string start = "}" + put(0) + integer(1) + put(1);
  for (int opcode = 0; opcode < 256; ++opcode) {
    for (const std::string& before : {std::string(), get(0), "(" + get(0) + get(1) + get(1)}) {
      std::string piece = before;
      piece.push_back(static_cast<char>(opcode));
      (void)outcome(pickle(start + repeated(piece, kMany)));
    }
  }
}

TEST(HostilePickle, HundredsOfThousandsOfKeysAreRead) {
  std::string body = "}(";
  for (std::size_t i = 0; i < kMany; ++i)
    body += unicode(std::to_string(i)) + integer(1);
  EXPECT_EQ(outcome(pickle(body + "u")), "read");
}

}  // namespace
}  // namespace ckptsim::storage::torch
