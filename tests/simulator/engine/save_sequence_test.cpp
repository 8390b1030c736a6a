#include "simulator/engine/save_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "tests/simulator/engine/virtual_target.h"

namespace ckptsim::simulator {
namespace {

using std::chrono::nanoseconds;
using storage::OpenMode;
using testing::CountingSource;
using testing::VirtualClock;
using testing::VirtualTarget;
using Kind = storage::Request::Kind;

// A rank with files of the given sizes on a virtual drive.
class VirtualRank {
 public:
  VirtualRank(VirtualClock& clock, std::vector<std::uint64_t> sizes, SaveSettings settings,
              VirtualTarget::Costs costs = {}, nanoseconds piece_cost = nanoseconds{0})
      : clock_(clock), target_(clock, costs) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      files_.push_back({"folder/file" + std::to_string(i), sizes[i]});
    producer_ = std::make_unique<BlockProducer>(files_.size(), [this, piece_cost](std::size_t file) {
      opened_at_.push_back(clock_.now());
      return std::make_unique<CountingSource>(files_[file].file_bytes, &clock_, piece_cost);
    });
    sequence_ = std::make_unique<SaveSequence>(settings, "folder", files_, *producer_, target_, clock_,
                                               written_, stop_);
  }

  void drive() {
    sequence_->start();
    while (sequence_->advance() == SaveSequence::Status::kWaiting) {
      storage::Completion completion;
      target_.wait(completion);
      sequence_->complete(std::move(completion));
    }
  }

  VirtualTarget& target() { return target_; }
  SaveSequence& sequence() { return *sequence_; }
  const SaveMeasurement& measurement() { return sequence_->measurement(); }
  std::vector<Kind> kinds() const {
    std::vector<Kind> kinds;
    for (const auto& seen : target_.seen())
      kinds.push_back(seen.kind);
    return kinds;
  }
  std::uint64_t written() const { return written_; }
  void stop() { stop_ = true; }
  const std::vector<nanoseconds>& opened_at() const { return opened_at_; }

 private:
  VirtualClock& clock_;
  VirtualTarget target_;
  std::vector<PlannedFile> files_;
  std::vector<nanoseconds> opened_at_;
  std::unique_ptr<BlockProducer> producer_;
  std::atomic<std::uint64_t> written_{0};
  std::atomic<bool> stop_{false};
  std::unique_ptr<SaveSequence> sequence_;
};

std::int64_t phase_ns(const SaveMeasurement& measurement, Phase phase) {
  return measurement.phases.totals()[static_cast<std::size_t>(phase)].count();
}

TEST(SaveSequence, SyncsEachFileBeforeTheNextAndTheFolderOnceAtTheEnd) {
  VirtualClock clock;
  VirtualRank rank(clock, {4096, 8192}, {.fsync = FsyncPolicy::kFile});
  rank.drive();
  EXPECT_THAT(rank.kinds(), ::testing::ElementsAre(Kind::kOpen, Kind::kWrite, Kind::kSync, Kind::kClose,
                                                   Kind::kOpen, Kind::kWrite, Kind::kWrite, Kind::kSync,
                                                   Kind::kClose, Kind::kSyncDirectory));
  EXPECT_EQ(rank.measurement().sync_calls, 3U);
}

TEST(SaveSequence, SyncsAndClosesAllFilesAfterTheLastWhenAskedForEnd) {
  VirtualClock clock;
  VirtualRank rank(clock, {4096, 4096}, {.fsync = FsyncPolicy::kEnd});
  rank.drive();
  EXPECT_THAT(rank.kinds(),
              ::testing::ElementsAre(Kind::kOpen, Kind::kWrite, Kind::kOpen, Kind::kWrite, Kind::kSync,
                                     Kind::kClose, Kind::kSync, Kind::kClose, Kind::kSyncDirectory));
}

TEST(SaveSequence, SyncsNothingWhenOff) {
  VirtualClock clock;
  VirtualRank rank(clock, {4096, 4096}, {.fsync = FsyncPolicy::kOff});
  rank.drive();
  EXPECT_EQ(rank.target().count(Kind::kSync), 0U);
  EXPECT_EQ(rank.target().count(Kind::kSyncDirectory), 0U);
  EXPECT_EQ(rank.target().count(Kind::kClose), 2U);
  EXPECT_EQ(rank.measurement().sync_calls, 0U);
}

TEST(SaveSequence, PadsTheTailAndSetsTheTrueLengthOnceAfterTheLastWrite) {
  VirtualClock clock;
  VirtualRank rank(clock, {4096 + 700}, {});
  rank.drive();
  EXPECT_THAT(rank.kinds(), ::testing::ElementsAre(Kind::kOpen, Kind::kWrite, Kind::kWrite, Kind::kSetLength,
                                                   Kind::kSync, Kind::kClose, Kind::kSyncDirectory));
  EXPECT_EQ(rank.target().seen()[2].length, 1024U) << "700 bytes in 512-byte units";
  EXPECT_EQ(rank.target().seen()[3].length, 4796U);
  EXPECT_EQ(rank.measurement().file_bytes, 4796U);
  EXPECT_EQ(rank.measurement().padding_bytes, 324U);
  EXPECT_EQ(rank.written(), 4796U);
}

TEST(SaveSequence, OverwritingSetsTheLengthEvenWithoutPaddingBecauseTheOldFileMayBeLonger) {
  VirtualClock clock;
  VirtualRank rank(clock, {4096}, {.open_mode = OpenMode::kOverwrite});
  rank.drive();
  EXPECT_EQ(rank.target().count(Kind::kSetLength), 1U);
  EXPECT_EQ(rank.target().seen().front().mode, OpenMode::kOverwrite);
}

TEST(SaveSequence, PreallocatesBetweenCreatingAndWriting) {
  VirtualClock clock;
  VirtualRank rank(clock, {5000}, {.preallocate = true});
  rank.drive();
  ASSERT_EQ(rank.target().count(Kind::kPreallocate), 1U);
  EXPECT_EQ(rank.target().seen()[1].kind, Kind::kPreallocate);
  EXPECT_EQ(rank.target().seen()[1].length, 5000U);
  EXPECT_EQ(phase_ns(rank.measurement(), Phase::kPreallocate), 10);
}

TEST(SaveSequence, PhasesAbutAndAddUpToTheDuration) {
  VirtualClock clock;
  VirtualRank rank(clock, {4096, 8192 + 1}, {},
                   {.write = nanoseconds{100}, .sync = nanoseconds{1000}, .other = nanoseconds{10}});
  rank.drive();
  const SaveMeasurement& measurement = rank.measurement();
  EXPECT_EQ(phase_ns(measurement, Phase::kCreate), 20);
  EXPECT_EQ(phase_ns(measurement, Phase::kWrite), 4 * 100 + 10) << "the true length belongs to write";
  EXPECT_EQ(phase_ns(measurement, Phase::kSync), 2000);
  EXPECT_EQ(phase_ns(measurement, Phase::kClose), 20);
  EXPECT_EQ(phase_ns(measurement, Phase::kDirectorySync), 1000);
  std::int64_t sum = 0;
  for (const auto& total : measurement.phases.totals())
    sum += total.count();
  EXPECT_EQ(sum, measurement.phases.duration().count());
  EXPECT_EQ(measurement.phases.duration(), clock.now());
}

TEST(SaveSequence, CountsIdleOnlyWhileNothingIsInFlight) {
  VirtualClock clock;
  // A block takes 300 to make and 100 to write: the drive waits 300 for the first and 200 for each of the
  // rest.
  VirtualRank slow(clock, {4 * 4096}, {},
                   {.write = nanoseconds{100}, .sync = nanoseconds{0}, .other = nanoseconds{0}},
                   nanoseconds{300});
  slow.drive();
  EXPECT_EQ(slow.measurement().idle_ns, 300 + 3 * 200);

  // Made in 100 and written in 300: the drive waits for the first block alone.
  VirtualRank fast(clock, {4 * 4096}, {},
                   {.write = nanoseconds{300}, .sync = nanoseconds{0}, .other = nanoseconds{0}},
                   nanoseconds{100});
  fast.drive();
  EXPECT_EQ(fast.measurement().idle_ns, 100);
}

TEST(SaveSequence, CountsAWriteThatIsFoundDoneAfterALongStepAsDoneBeforeIt) {
  VirtualClock clock;
  // Made in 300 and written in 100 unseen: nobody knows how much of the 300 the drive was busy.
  VirtualRank slow(clock, {4 * 4096}, {.long_steps = true},
                   {.write = nanoseconds{100}, .sync = nanoseconds{0}, .other = nanoseconds{0}},
                   nanoseconds{300});
  slow.drive();
  EXPECT_EQ(slow.measurement().idle_ns, 4 * 300);

  // A write that still runs when the step is over leaves no doubt.
  VirtualRank fast(clock, {4 * 4096}, {.long_steps = true},
                   {.write = nanoseconds{300}, .sync = nanoseconds{0}, .other = nanoseconds{0}},
                   nanoseconds{100});
  fast.drive();
  EXPECT_EQ(fast.measurement().idle_ns, 100);
}

TEST(SaveSequence, AProfileTimesTheMakingOfEveryPieceAndNothingElse) {
  for (const bool profile : {false, true}) {
    VirtualClock clock;
    VirtualRank rank(clock, {4096, 8192}, {.fsync = FsyncPolicy::kFile, .profile = profile}, {},
                     nanoseconds{70});
    rank.drive();
    EXPECT_EQ(rank.measurement().profile.making_ns, profile ? 3 * 70 : 0) << "three blocks, a piece each";
    EXPECT_EQ(rank.measurement().profile.submission_ns, 0) << "submitting takes no virtual time";
  }
}

TEST(SaveSequence, MakesNothingBeforeItsClockStartsAndAheadOverFileEnds) {
  VirtualClock clock;
  clock.set(nanoseconds{5000});
  VirtualRank rank(clock, {2 * 4096, 4096}, {},
                   {.write = nanoseconds{500}, .sync = nanoseconds{1000}, .other = nanoseconds{10}},
                   nanoseconds{1});
  EXPECT_TRUE(rank.opened_at().empty());
  rank.drive();
  ASSERT_EQ(rank.opened_at().size(), 2U);
  EXPECT_GE(rank.opened_at()[0], nanoseconds{5000});
  EXPECT_LT(rank.opened_at()[1], nanoseconds{6010}) << "the second file is begun before the first is synced";
}

TEST(SaveSequence, NeverHasMoreInFlightThanTheQueueDepthAndKeepsItFull) {
  VirtualClock clock;
  VirtualRank rank(clock, {64 * 4096}, {});
  rank.drive();
  // The drive takes one block at a time: with the queue never empty, writing lasts exactly as long as its
  // blocks.
  EXPECT_EQ(phase_ns(rank.measurement(), Phase::kWrite), 64 * 100);
  EXPECT_EQ(rank.measurement().depth_integral_ns, 100 + 63 * 200) << "two in flight but for the ends";
  EXPECT_EQ(rank.measurement().blocks, 64U);
  EXPECT_EQ(rank.measurement().latency.maximum_ns(), 200);
  EXPECT_THAT(rank.measurement().busy.intervals(), ::testing::ElementsAre(Interval{10, 10 + 6400}));
}

TEST(SaveSequence, ARankWithoutFilesIsDoneAtOnceAndSyncsNothing) {
  VirtualClock clock;
  VirtualRank rank(clock, {}, {});
  rank.drive();
  EXPECT_TRUE(rank.kinds().empty());
  EXPECT_EQ(rank.measurement().phases.duration(), nanoseconds{0});
}

TEST(SaveSequence, AWriteErrorEndsTheRankWithFileAndOffsetAndNothingInFlight) {
  VirtualClock clock;
  VirtualRank rank(clock, {8 * 4096}, {});
  rank.target().fail(Kind::kWrite, 3, std::errc::no_space_on_device);
  rank.drive();
  ASSERT_TRUE(rank.sequence().error().has_value());
  EXPECT_EQ(rank.sequence().error()->operation, "write");
  EXPECT_EQ(rank.sequence().error()->path, "folder/file0");
  EXPECT_EQ(rank.sequence().error()->offset, 2U * 4096);
  EXPECT_EQ(rank.sequence().error()->code, std::errc::no_space_on_device);
  EXPECT_EQ(rank.target().pending(), 0U);
  EXPECT_EQ(rank.target().count(Kind::kSync), 0U);
  EXPECT_FALSE(rank.sequence().stopped());
}

struct FailingStep {
  Kind kind;
  const char* operation;
};

class SaveSequenceFailure : public ::testing::TestWithParam<FailingStep> {};

TEST_P(SaveSequenceFailure, IsReportedAndNothingFollowsIt) {
  VirtualClock clock;
  VirtualRank rank(clock, {4096 + 1, 4096}, {.preallocate = true});
  rank.target().fail(GetParam().kind, 1, std::errc::io_error);
  rank.drive();
  ASSERT_TRUE(rank.sequence().error().has_value());
  EXPECT_EQ(rank.sequence().error()->operation, GetParam().operation);
  EXPECT_EQ(rank.target().seen().back().kind, GetParam().kind)
      << "a failed step is neither repeated nor passed over";
  EXPECT_EQ(rank.target().count(GetParam().kind), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    EveryStep, SaveSequenceFailure,
    ::testing::Values(FailingStep{Kind::kOpen, "create"}, FailingStep{Kind::kPreallocate, "preallocate"},
                      FailingStep{Kind::kSetLength, "set the length of"}, FailingStep{Kind::kSync, "fsync"},
                      FailingStep{Kind::kClose, "close"}, FailingStep{Kind::kSyncDirectory, "fsync"}));

TEST(SaveSequence, StopsWhenToldWithoutAnErrorOfItsOwn) {
  VirtualClock clock;
  VirtualRank rank(clock, {64 * 4096}, {});
  rank.sequence().start();
  ASSERT_EQ(rank.sequence().advance(), SaveSequence::Status::kWaiting);
  rank.stop();
  while (rank.sequence().advance() == SaveSequence::Status::kWaiting) {
    storage::Completion completion;
    rank.target().wait(completion);
    rank.sequence().complete(std::move(completion));
  }
  EXPECT_TRUE(rank.sequence().stopped());
  EXPECT_FALSE(rank.sequence().error().has_value());
  EXPECT_EQ(rank.target().pending(), 0U);
  EXPECT_LT(rank.target().count(Kind::kWrite), 64U);
}

// The promise behind the seam: one thread and a virtual clock drive several ranks at once, and a rank's
// figures are those that it has alone.
TEST(SaveSequence, SeveralRanksRunOnOneVirtualClockWithoutThreads) {
  const std::vector<std::uint64_t> sizes = {10 * 4096, 3 * 4096 + 5};
  VirtualClock alone_clock;
  VirtualRank alone(alone_clock, sizes, {});
  alone.drive();

  VirtualClock clock;
  VirtualRank first(clock, sizes, {});
  VirtualRank second(clock, sizes, {});
  std::vector<VirtualRank*> running = {&first, &second};
  for (VirtualRank* rank : running)
    rank->sequence().start();
  while (!running.empty()) {
    std::erase_if(
        running, [](VirtualRank* rank) { return rank->sequence().advance() == SaveSequence::Status::kDone; });
    std::optional<nanoseconds> next;
    for (VirtualRank* rank : running) {
      const std::optional<nanoseconds> due = rank->target().next_due();
      ASSERT_TRUE(due.has_value());
      next = next.has_value() ? std::min(*next, *due) : *due;
    }
    if (next.has_value()) clock.set(*next);
    for (VirtualRank* rank : running) {
      storage::Completion completion;
      while (rank->target().poll(completion))
        rank->sequence().complete(std::move(completion));
    }
  }
  EXPECT_EQ(first.measurement().phases.duration(), alone.measurement().phases.duration());
  EXPECT_EQ(second.measurement().phases.totals(), alone.measurement().phases.totals());
  EXPECT_EQ(first.kinds(), alone.kinds());
}

}  // namespace
}  // namespace ckptsim::simulator
