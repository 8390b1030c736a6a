#include "simulator/run/stall_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ckptsim::simulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(StallWords, NameFileOffsetAndSinceWhen) {
  const std::string words = stall_sentence(
      {.kind = storage::Request::Kind::kWrite, .path = "/mnt/a.pt", .offset = 8192, .since = seconds(100)},
      seconds(300), seconds(400));
  EXPECT_THAT(words, StartsWith("no answer for 300 s while it was writing /mnt/a.pt at offset 8192 (since "));
  EXPECT_THAT(words, ContainsRegex("since [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));
  EXPECT_THAT(words, HasSubstr("storage.stall_seconds"));
}

TEST(StallWords, OfCallsWithoutAnOffset) {
  const std::string words =
      stall_sentence({.kind = storage::Request::Kind::kSync, .path = "/mnt/a.pt", .since = {}},
                     milliseconds(500), seconds(1));
  EXPECT_THAT(words, StartsWith("no answer for 0.5 s while it was in fsync of /mnt/a.pt (since "));
  EXPECT_THAT(words, Not(HasSubstr("offset")));
}

TEST(StallWords, AdviseToRaiseWhatSetsTheLimit) {
  const storage::TargetActivity::Waiting waiting{
      .kind = storage::Request::Kind::kRead, .path = "/mnt/a.pt", .since = {}};
  EXPECT_THAT(stall_sentence(waiting, seconds(1), seconds(1), "--stall-seconds"),
              AllOf(HasSubstr("or raise --stall-seconds if"), Not(HasSubstr("storage."))));
  EXPECT_THAT(hang_sentence("reading a manifest", seconds(1), "--stall-seconds"),
              AllOf(HasSubstr("or raise --stall-seconds if"), Not(HasSubstr("storage."))));
}

TEST(StallWords, NameTheRanksAndHostOfASilentProcess) {
  const std::vector<RankPlace> places = {{.rank = 0, .process = 0, .host = "a"},
                                         {.rank = 1, .process = 0, .host = "a"},
                                         {.rank = 2, .process = 1, .host = "b"},
                                         {.rank = 3, .process = 2, .host = "c"},
                                         {.rank = 4, .process = 2, .host = "c"}};
  EXPECT_THAT(silence_sentence(2, places, seconds(300)),
              StartsWith("process 2 (ranks 3-4 on c) has not answered for 300 s: "));
  EXPECT_THAT(silence_sentence(1, places, seconds(300)), StartsWith("process 1 (rank 2 on b) has not "));
}

}  // namespace
}  // namespace ckptsim::simulator
