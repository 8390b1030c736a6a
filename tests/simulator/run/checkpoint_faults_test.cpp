// A checkpoint of two ranks, as the program runs it, on targets that follow a script of faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <latch>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/communicator/communicator.h"
#include "simulator/run/checkpoint_runner.h"
#include "storage/target/make_target.h"
#include "storage/target/marked_directory.h"
#include "tests/contract/fault_target.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::simulator {
namespace {

using std::chrono::milliseconds;
using test::Fault;
using test::FaultTarget;
using test::system_error;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = storage::Request::Kind;

constexpr std::chrono::seconds kPatient{300};

// Four files and some seventy blocks a rank.
RunConfig small_run(const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = {
      R"(model={"name":"small","layers":2,"hidden_size":64,"ffn_hidden_size":128,"attention_heads":4,)"
      R"("kv_heads":2,"vocabulary_size":500})",
      "parallelism.tensor=2", "storage.backend=buffered", "storage.block_bytes=4096", "checkpoint.fsync=off"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return load_run_config("llama3.1-8b-tp1pp1", overrides);
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

// The two ranks of a process, in a folder of their own. `scripts`: by rank.
class Ranks {
 public:
  explicit Ranks(RunConfig config, std::map<long, std::vector<Fault>> scripts = {},
                 std::chrono::nanoseconds stall_limit = kPatient)
      : config_(std::move(config)) {
    config_.storage.targets = {target_.path().string()};
    storage::MarkedDirectory(target_.path()).make_checkpoint_folder(config_.name, 1);
    folder_ = storage::MarkedDirectory::checkpoint_path(target_.path(), config_.name, 1).string();
    for (long rank = 0; rank < 2; ++rank) {
      auto real = storage::make_target(
          {.backend = storage::Backend::kBuffered, .block_bytes = config_.storage.block_bytes}, clock_);
      auto target = std::make_unique<FaultTarget>(std::move(real), clock_, scripts[rank]);
      targets_.push_back(target.get());
      places_.push_back({.rank = rank, .host = "host"});
      workers_.push_back(
          std::make_unique<RankWorker>(config_, places_.back(), 0, std::move(target), nullptr, clock_));
    }
    runner_ = std::make_unique<CheckpointRunner>(*communicator_, workers_, places_, stall_limit, nobody_,
                                                 interruption_);
  }
  ~Ranks() { release(); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  void save(const CheckpointJob& job = {}) {
    try {
      outcome_ = runner_->save(job, {{0, folder_}, {1, folder_}});
    } catch (const RunFailure& failure) {
      failure_ = failure;
    }
  }

  // What a save() that failed left in order: nothing in flight, and every buffer free once the sequence of
  // another checkpoint has taken its place.
  [[nodiscard]] bool in_order() {
    std::atomic<std::uint64_t> written{0};
    const std::atomic<bool> stop{false};
    for (const auto& worker : workers_)
      worker->prepare({.ordinal = 1}, folder_, written, stop);
    return targets_[0]->all_buffers_are_back() && targets_[1]->all_buffers_are_back();
  }

  void release() {
    for (FaultTarget* target : targets_)
      target->release();
  }

  [[nodiscard]] std::string message() const { return failure_.has_value() ? failure_->what() : ""; }
  [[nodiscard]] const std::optional<RunFailure>& failure() const { return failure_; }
  [[nodiscard]] const std::optional<CheckpointOutcome>& outcome() const { return outcome_; }
  [[nodiscard]] const FaultTarget& target(std::size_t rank) const { return *targets_[rank]; }
  [[nodiscard]] bool left_threads_behind() const { return runner_->left_threads_behind(); }

 private:
  test::TemporaryFolder target_;
  std::string folder_;  // of the checkpoint
  storage::SteadyClock clock_;
  RunConfig config_;
  std::unique_ptr<Communicator> communicator_ = make_serial_communicator();
  Progress nobody_;
  Interruption interruption_;
  std::vector<RankPlace> places_;
  std::vector<std::unique_ptr<RankWorker>> workers_;
  std::vector<FaultTarget*> targets_;  // the workers' own
  std::unique_ptr<CheckpointRunner> runner_;
  std::optional<RunFailure> failure_;
  std::optional<CheckpointOutcome> outcome_;
};

std::size_t count_of(Kind kind, const RunConfig& config) {
  Ranks ranks(config);
  ranks.save();
  EXPECT_EQ(ranks.message(), "");
  return ranks.target(1).count(kind);
}

template <typename AnyCase>
std::string case_name(const ::testing::TestParamInfo<AnyCase>& info) {
  return info.param.name;
}

// ---- a fault of every kind, at its first, middle and last request

struct Case {
  const char* name;
  Kind kind;
  int error;
  const char* operation;
  const char* words;
};

void PrintTo(const Case& value, std::ostream* out) {  // NOLINT(readability-identifier-naming): gtest's name
  *out << value.name;
}

class CheckpointFault : public ::testing::TestWithParam<Case> {};

TEST_P(CheckpointFault, EndsTheCheckpointWithItsPlaceAndIsNotTriedAgain) {
  const Case& fault = GetParam();
  const RunConfig config = small_run({"checkpoint.fsync=file", "storage.preallocate=true"});
  const std::size_t last = count_of(fault.kind, config);
  ASSERT_GE(last, 1U);
  const std::size_t files_before = open_files();
  for (const std::size_t nth : {std::size_t{1}, (last + 1) / 2, last}) {
    SCOPED_TRACE(nth);
    Ranks ranks(config, {{1, {{.kind = fault.kind, .first = nth, .error = system_error(fault.error)}}}});
    ranks.save();
    ASSERT_TRUE(ranks.failure().has_value());
    EXPECT_EQ(ranks.failure()->code(), ExitCode::kInputOutput);
    EXPECT_EQ(ranks.failure()->leaving(), Leaving::kNormally);
    EXPECT_THAT(ranks.message(), AllOf(StartsWith("rank 1 on host: cannot "), HasSubstr(fault.operation),
                                       HasSubstr(fault.words)));
    EXPECT_EQ(ranks.target(1).count(fault.kind), nth) << "never tried again";
    EXPECT_FALSE(ranks.outcome().has_value());
    EXPECT_TRUE(ranks.in_order());
  }
  EXPECT_EQ(open_files(), files_before);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, CheckpointFault,
    ::testing::Values(Case{"CreateEio", Kind::kOpen, EIO, "create", "Input/output error"},
                      Case{"CreateTooManyFiles", Kind::kOpen, EMFILE, "create", "ulimit -n"},
                      Case{"PreallocateNotSupported", Kind::kPreallocate, EOPNOTSUPP, "preallocate",
                           "set storage.preallocate to false"},
                      Case{"PreallocateNoSpace", Kind::kPreallocate, ENOSPC, "preallocate",
                           "No space left on device"},
                      Case{"WriteEio", Kind::kWrite, EIO, ".pt at offset ", "Input/output error"},
                      Case{"WriteQuota", Kind::kWrite, EDQUOT, ".pt at offset ", "quota"},
                      Case{"WriteReadOnly", Kind::kWrite, EROFS, ".pt at offset ", "Read-only file system"},
                      Case{"WriteTooLarge", Kind::kWrite, EFBIG, ".pt at offset ", "ulimit -f"},
                      Case{"WriteTimedOut", Kind::kWrite, ETIMEDOUT, ".pt at offset ", "timed out"},
                      Case{"SyncEio", Kind::kSync, EIO, "fsync", "Input/output error"},
                      Case{"SyncNoSpace", Kind::kSync, ENOSPC, "fsync", "free space"},
                      Case{"CloseEio", Kind::kClose, EIO, "close", "Input/output error"},
                      Case{"CloseQuota", Kind::kClose, EDQUOT, "close", "quota"},
                      Case{"SyncDirectoryEio", Kind::kSyncDirectory, EIO, "fsync", "Input/output error"}),
    case_name<Case>);

TEST(CheckpointFaults, AFailedSettingOfTheLengthEndsTheCheckpoint) {
  // Files that are overwritten always have their length set.
  Ranks ranks(small_run(), {{1, {{.kind = Kind::kSetLength, .first = 3, .error = system_error(EIO)}}}});
  ranks.save({.open_mode = storage::OpenMode::kOverwrite});
  EXPECT_THAT(ranks.message(), AllOf(StartsWith("rank 1 on host: cannot set the length of "),
                                     HasSubstr("Input/output error")));
  EXPECT_EQ(ranks.target(1).count(Kind::kSetLength), 3U);
  EXPECT_TRUE(ranks.in_order());
}

TEST(CheckpointFaults, NoSpaceAtAnyBlockIsThatBlocksError) {
  const RunConfig config = small_run();
  const std::size_t blocks = count_of(Kind::kWrite, config);
  ASSERT_GE(blocks, 30U);
  const std::size_t files_before = open_files();
  for (std::size_t nth = 1; nth <= blocks; ++nth) {
    SCOPED_TRACE(nth);
    Ranks ranks(
        config,
        {{1, {{.kind = Kind::kWrite, .first = nth, .count = blocks, .error = system_error(ENOSPC)}}}});
    ranks.save();
    EXPECT_THAT(ranks.message(), AllOf(StartsWith("rank 1 on host: cannot write "), HasSubstr(" at offset "),
                                       HasSubstr("No space left on device; the target filled up")));
    EXPECT_EQ(ranks.target(1).count(Kind::kWrite), nth) << "the first error ends it";
    EXPECT_TRUE(ranks.in_order());
  }
  EXPECT_EQ(open_files(), files_before);
}

TEST(CheckpointFaults, OfTwoRanksThatFailTheLowestIsTold) {
  // Rank 1 fails while rank 0 is within the request that will fail as well.
  std::latch rank_0_is_within(1);
  Ranks ranks(small_run(), {{0,
                             {{.kind = Kind::kOpen,
                               .error = system_error(EIO),
                               .before = [&] { rank_0_is_within.count_down(); }}}},
                            {1, {{.kind = Kind::kOpen, .error = system_error(ENOSPC), .before = [&] {
                                    rank_0_is_within.wait();
                                  }}}}});
  ranks.save();
  EXPECT_THAT(ranks.message(), AllOf(StartsWith("rank 0 on host: "), HasSubstr("Input/output error")));
  EXPECT_TRUE(ranks.in_order());
}

TEST(CheckpointFaults, ADriveThatLosesTheEndOfAFileIsFoundByTheFilesSize) {
  const RunConfig config = small_run();
  const std::size_t blocks = count_of(Kind::kWrite, config);
  Ranks ranks(config, {{1, {{.first = blocks, .shorter = 1}}}});
  ranks.save();
  ASSERT_TRUE(ranks.failure().has_value());
  EXPECT_EQ(ranks.failure()->code(), ExitCode::kInputOutput);
  EXPECT_THAT(ranks.message(), AllOf(StartsWith("rank 1 on host: "), HasSubstr("bytes")));
}

TEST(CheckpointFaults, ASlowDriveIsNoFaultAndItsTimeIsNotTheRanksIdleTime) {
  constexpr milliseconds kDelay{30};
  constexpr std::size_t kSlow = 10;
  Ranks ranks(small_run(), {{1, {{.first = 5, .count = kSlow, .delay = kDelay}}}}, std::chrono::seconds(20));
  ranks.save();
  ASSERT_EQ(ranks.message(), "");
  const RankSave& slow = ranks.outcome()->ranks[1];
  const std::int64_t waited_ns = std::chrono::nanoseconds(kSlow * kDelay).count();
  const std::int64_t write_ns = slow.phase_ns[static_cast<std::size_t>(Phase::kWrite)];
  EXPECT_GE(write_ns, waited_ns);
  EXPECT_LE(slow.idle_ns, write_ns - waited_ns);
  EXPECT_GE(slow.latency_max_ns, std::chrono::nanoseconds(kDelay).count());
}

// ---- requests that are never answered

struct HangCase {
  const char* name;
  Kind kind;
  const char* doing;
};

void PrintTo(const HangCase& value, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << value.name;
}

class CheckpointHang : public ::testing::TestWithParam<HangCase> {};

TEST_P(CheckpointHang, EndsTheCheckpointThoughTheRanksThreadDoesNotReturn) {
  constexpr milliseconds kLimit{400};
  const HangCase& hang = GetParam();
  const RunConfig config = small_run({"checkpoint.fsync=file", "storage.preallocate=true"});
  Ranks ranks(config, {{1, {{.kind = hang.kind, .hangs = true}}}}, kLimit);
  ranks.save();
  ASSERT_TRUE(ranks.failure().has_value());
  EXPECT_EQ(ranks.failure()->code(), ExitCode::kInputOutput);
  EXPECT_THAT(ranks.message(), AllOf(StartsWith("rank 1 on host: no answer for 0.4 s while it was "),
                                     HasSubstr(hang.doing), HasSubstr("storage.stall_seconds")));
  EXPECT_TRUE(ranks.left_threads_behind());
  EXPECT_FALSE(ranks.outcome().has_value());
}

INSTANTIATE_TEST_SUITE_P(Kinds, CheckpointHang,
                         ::testing::Values(HangCase{"Create", Kind::kOpen, "creating "},
                                           HangCase{"Preallocate", Kind::kPreallocate, "preallocating "},
                                           HangCase{"Write", Kind::kWrite, ".pt at offset 0 "},
                                           HangCase{"Sync", Kind::kSync, "in fsync of "},
                                           HangCase{"Close", Kind::kClose, "closing "},
                                           HangCase{"SyncDirectory", Kind::kSyncDirectory, "in fsync of "}),
                         case_name<HangCase>);

TEST(CheckpointFaults, AWriteThatIsAnsweredWithinTheLimitIsNoFault) {
  Ranks ranks(small_run(), {{1, {{.delay = milliseconds(300)}}}}, std::chrono::seconds(20));
  ranks.save();
  EXPECT_EQ(ranks.message(), "");
  EXPECT_FALSE(ranks.left_threads_behind());
}

}  // namespace
}  // namespace ckptsim::simulator
