#include "simulator/report/progress_line.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace ckptsim::simulator {
namespace {

using std::chrono::seconds;

class FakeClock final : public storage::Clock {
 public:
  [[nodiscard]] Time now() const override { return now_; }
  Time now_{};
};

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class ProgressLineTest : public ::testing::Test {
 protected:
  std::string text() {
    std::rewind(file_.get());
    std::array<char, 4096> buffer{};
    return {buffer.data(), std::fread(buffer.data(), 1, buffer.size(), file_.get())};
  }

  std::unique_ptr<std::FILE, Closer> file_{std::tmpfile()};
  FakeClock clock_;
};

TEST_F(ProgressLineTest, SaysWhenItReadsBackAndCountsThatTimeToo) {
  ProgressLine line(ProgressStyle::kLine, file_.get(), clock_);
  line.begin_run(2, 10'000'000'000, 2, 0, 0);
  line.begin_checkpoint(1, false, 1);
  clock_.now_ = seconds{5};
  line.end_checkpoint();
  line.begin_load(1, false, 1);
  clock_.now_ = seconds{10};
  line.written(10'000'000'000);
  EXPECT_NE(text().find("pass 1, loading checkpoint 1 (1/2): 10.00 of 10.00 GB, 2.00 GB/s, 0:10 left"),
            std::string::npos)
      << text();
}

TEST_F(ProgressLineTest, SaysThatItRemovesAndClearsThatWhenItEnds) {
  {
    ProgressLine line(ProgressStyle::kLine, file_.get(), clock_);
    line.begin_removal("the earlier run");
    EXPECT_EQ(text(), "\rremoving the earlier run\x1b[K");
  }
  EXPECT_EQ(text(), "\rremoving the earlier run\x1b[K\r\x1b[K");
}

TEST_F(ProgressLineTest, HasALineForARemovalToo) {
  ProgressLine line(ProgressStyle::kPlain, file_.get(), clock_);
  line.begin_removal("the earlier run");
  EXPECT_EQ(text(), "ckptsim: removing the earlier run\n");
}

TEST_F(ProgressLineTest, AResumedRunCountsAllAndReckonsWithItsOwnTime) {
  ProgressLine line(ProgressStyle::kLine, file_.get(), clock_);
  line.begin_run(6, 10'000'000'000, 0, 2, 0);
  line.begin_checkpoint(1, false, 3);
  clock_.now_ = seconds{5};
  line.written(5'000'000'000);
  EXPECT_NE(text().find("pass 1, checkpoint 3 (3/6): 5.00 of 10.00 GB, 1.00 GB/s, 0:35 left"),
            std::string::npos)
      << text();
}

TEST_F(ProgressLineTest, HasALineForEachLoadToo) {
  ProgressLine line(ProgressStyle::kPlain, file_.get(), clock_);
  line.begin_run(1, 1, 1, 0, 0);
  line.begin_checkpoint(1, false, 1);
  line.end_checkpoint();
  line.begin_load(1, false, 1);
  clock_.now_ = seconds{3};
  line.end_load();
  EXPECT_NE(text().find("ckptsim: pass 1, loading checkpoint 1 (1/1) done, 0:03 since the start\n"),
            std::string::npos)
      << text();
}

TEST_F(ProgressLineTest, ShowsPassCheckpointBytesRateAndTimeLeft) {
  ProgressLine line(ProgressStyle::kLine, file_.get(), clock_);
  line.begin_run(4, 10'000'000'000, 0, 0, 0);
  line.begin_checkpoint(1, false, 1);
  clock_.now_ = seconds{2};
  line.written(5'000'000'000);
  EXPECT_NE(text().find("pass 1, checkpoint 1 (1/4): 5.00 of 10.00 GB, 2.50 GB/s, 0:14 left"),
            std::string::npos)
      << text();
}

TEST_F(ProgressLineTest, CountsPausesInTheTimeLeft) {
  ProgressLine line(ProgressStyle::kLine, file_.get(), clock_);
  line.begin_run(2, 10'000'000'000, 0, 0, 0);
  line.begin_checkpoint(1, false, 1);
  clock_.now_ = seconds{10};  // five of them after the checkpoint
  line.end_checkpoint();
  line.begin_checkpoint(2, false, 1);
  EXPECT_NE(text().find("(2/2): 0.00 of 10.00 GB, 0.00 GB/s, 0:10 left"), std::string::npos) << text();
}

TEST_F(ProgressLineTest, PlainIsALineACheckpoint) {
  ProgressLine line(ProgressStyle::kPlain, file_.get(), clock_);
  EXPECT_FALSE(line.wanted());
  line.begin_run(2, 1, 0, 0, 0);
  line.begin_checkpoint(1, true, 1);
  clock_.now_ = seconds{65};
  line.end_checkpoint();
  line.end_run();
  EXPECT_EQ(text(), "ckptsim: warm-up 1, checkpoint 1 (1/2) done, 1:05 since the start\n");
}

TEST_F(ProgressLineTest, NoneIsSilent) {
  ProgressLine line(ProgressStyle::kNone, file_.get(), clock_);
  line.begin_run(1, 1, 0, 0, 0);
  line.begin_checkpoint(1, false, 1);
  line.written(1);
  line.end_checkpoint();
  line.end_run();
  EXPECT_EQ(text(), "");
}

TEST(ClockText, ReadsLikeAClock) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(59.6), "1:00");
  EXPECT_EQ(clock_text(3600 + 23 * 60 + 4), "1:23:04");
  EXPECT_EQ(clock_text(-5), "0:00");
}

}  // namespace
}  // namespace ckptsim::simulator
