#include "simulator/engine/load_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "storage/torch/archive_stream.h"
#include "tests/simulator/engine/virtual_target.h"

namespace ckptsim::simulator {
namespace {

namespace torch = storage::torch;
using std::chrono::nanoseconds;
using ::testing::HasSubstr;
using testing::VirtualClock;
using testing::VirtualTarget;
using Kind = storage::Request::Kind;

// About 150 KB in three tensors.
torch::FileSpec file_spec(int number) {
  return {"file" + std::to_string(number) + ".pt",
          {{"weight", torch::TensorSpec{torch::ScalarType::kBFloat16, {100, 200 + number}}},
           {"state", torch::TensorSpec{torch::ScalarType::kUInt8, {70'001}}},
           {"master", torch::TensorSpec{torch::ScalarType::kFloat32, {10, 1'000}}},
           {"iteration", std::int64_t{100'000}}}};
}

// Of many small tensors: its directory is larger than what is read of the tail at first.
torch::FileSpec file_of_many_records() {
  torch::FileSpec spec{"many.pt", {}};
  for (int i = 0; i < 1500; ++i) {
    spec.entries.push_back(
        {"tensor." + std::to_string(i), torch::TensorSpec{torch::ScalarType::kUInt8, {3}}});
  }
  return spec;
}

struct Archive {
  std::string bytes;
  torch::FileDigest digest;
};

Archive archive_of(const torch::FileSpec& spec) {
  torch::ArchiveStream stream(spec, {}, 1, 1, 1);
  Archive archive;
  std::vector<std::byte> piece(stream.file_bytes());
  for (std::size_t got = 1; got > 0;) {
    got = stream.read(piece);
    archive.bytes.append(reinterpret_cast<const char*>(piece.data()), got);
  }
  archive.digest = stream.digest();
  return archive;
}

std::uint64_t payload_offset(const Archive& archive, const std::string& record) {
  const auto found = std::find_if(archive.digest.records.begin(), archive.digest.records.end(),
                                  [&](const torch::RecordDigest& one) { return one.name == record; });
  if (found == archive.digest.records.end()) throw std::out_of_range(record);
  return found->payload_offset;
}

// A rank that reads files back from a virtual drive.
class VirtualRank {
 public:
  explicit VirtualRank(const std::vector<torch::FileSpec>& specs, std::uint64_t block_bytes = 4096,
                       std::uint64_t alignment = 512, std::uint64_t queue_depth = 2)
      : specs_(specs), target_(clock_, {}, block_bytes, queue_depth, alignment) {
    for (const torch::FileSpec& spec : specs_) {
      archives_.push_back(archive_of(spec));
      target_.serve(spec.name, archives_.back().bytes);
      files_.push_back({spec.name, archives_.back().bytes.size(), &spec});
    }
    sequence_ = std::make_unique<LoadSequence>(files_, target_, clock_, read_, stop_);
  }

  // What the drive holds is not what was written.
  void damage(std::size_t file, const std::string& bytes) { target_.serve(specs_[file].name, bytes); }
  void flip(std::size_t file, std::uint64_t at) {
    std::string bytes = archives_[file].bytes;
    bytes[at] ^= 1;
    damage(file, bytes);
  }

  LoadSequence& drive() {
    sequence_->start();
    while (sequence_->advance() == LoadSequence::Status::kWaiting) {
      storage::Completion completion;
      target_.wait(completion);
      sequence_->complete(std::move(completion));
    }
    return *sequence_;
  }

  // One sentence; empty where all was well.
  std::string difference() {
    drive();
    if (!sequence_->error().has_value()) return {};
    EXPECT_FALSE(sequence_->error()->code) << sequence_->error()->code.message();
    return sequence_->error()->difference;
  }

  VirtualTarget& target() { return target_; }
  const LoadMeasurement& measurement() { return sequence_->measurement(); }
  const Archive& archive(std::size_t file) const { return archives_[file]; }
  std::vector<torch::FileSpec>& specs() { return specs_; }
  std::uint64_t read() const { return read_; }
  void stop() { stop_ = true; }

 private:
  VirtualClock clock_;
  std::vector<torch::FileSpec> specs_;
  std::vector<Archive> archives_;
  VirtualTarget target_;
  std::vector<FileToLoad> files_;
  std::atomic<std::uint64_t> read_{0};
  std::atomic<bool> stop_{false};
  std::unique_ptr<LoadSequence> sequence_;
};

std::int64_t phase_ns(const LoadMeasurement& measurement, LoadPhase phase) {
  return measurement.phases.totals()[static_cast<std::size_t>(phase)].count();
}

TEST(LoadSequence, ReadsWhatWasWrittenWhateverTheBlocksAndTheAlignment) {
  for (const auto& [block_bytes, alignment, depth] : {std::tuple(4096, 1, 1), std::tuple(4096, 4096, 3),
                                                      std::tuple(1 << 20, 512, 4), std::tuple(1000, 1, 2)}) {
    VirtualRank rank({file_spec(0), file_spec(1)}, static_cast<std::uint64_t>(block_bytes),
                     static_cast<std::uint64_t>(alignment), static_cast<std::uint64_t>(depth));
    EXPECT_EQ(rank.difference(), "") << block_bytes << " " << alignment;
    EXPECT_EQ(rank.measurement().file_bytes, rank.archive(0).bytes.size() + rank.archive(1).bytes.size());
    EXPECT_GE(rank.measurement().read_bytes, rank.measurement().file_bytes);
    EXPECT_EQ(rank.measurement().latency.count(), rank.measurement().blocks);
  }
}

TEST(LoadSequence, OpensAndClosesEachFileBeforeTheNextAndSyncsNothing) {
  VirtualRank rank({file_spec(0), file_spec(1)}, 1 << 20);
  rank.drive();
  std::vector<Kind> kinds;
  for (const auto& seen : rank.target().seen())
    kinds.push_back(seen.kind);
  // The tail, and the records in one block, which is under way meanwhile.
  EXPECT_THAT(kinds, ::testing::ElementsAre(Kind::kOpenToRead, Kind::kRead, Kind::kRead, Kind::kClose,
                                            Kind::kOpenToRead, Kind::kRead, Kind::kRead, Kind::kClose));
  EXPECT_EQ(rank.target().seen()[0].path, "file0.pt");
  EXPECT_EQ(rank.target().seen()[4].path, "file1.pt");
}

// The records' blocks: those of a length that no read of the end has, and the last one.
TEST(LoadSequence, ReadsTheRecordsInBlocksFromTheFirstByteToTheDirectory) {
  VirtualRank rank({file_spec(0)}, 1 << 17, 512);
  rank.drive();
  const torch::WindowSource whole("", rank.archive(0).bytes.size(), 0, rank.archive(0).bytes);
  const std::uint64_t records_end = (torch::find_directory(whole).offset + 511) / 512 * 512;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> reads;
  for (const auto& seen : rank.target().seen()) {
    if (seen.kind == Kind::kRead) reads.emplace_back(seen.offset, seen.length);
  }
  const std::uint64_t tail = (rank.archive(0).bytes.size() - LoadSequence::kTailBytes) / 512 * 512;
  EXPECT_EQ(reads[0].first, tail);
  EXPECT_EQ(reads[1], std::pair(std::uint64_t{0}, std::uint64_t{1} << 17));
  EXPECT_EQ(reads[2].first, std::uint64_t{1} << 17);
  EXPECT_EQ(reads.size(), 3U);
  EXPECT_EQ(rank.measurement().blocks, 2U);
  EXPECT_GE(reads[2].first + reads[2].second, records_end);
  EXPECT_EQ(rank.read(), (std::uint64_t{1} << 17) +
                             std::min(reads[2].second, rank.archive(0).bytes.size() - reads[2].first))
      << "progress counts what was read of the records";
}

TEST(LoadSequence, PhasesAbutAndAddUpToTheDuration) {
  VirtualRank rank({file_spec(0), file_spec(1)}, 1 << 17, 512, 4);
  rank.drive();
  const LoadMeasurement& measurement = rank.measurement();
  // On a drive where opening and closing take 10 ns and a read 100: the tail, the block that the pickle is
  // in, and one more.
  EXPECT_EQ(phase_ns(measurement, LoadPhase::kOpen), 20);
  EXPECT_EQ(phase_ns(measurement, LoadPhase::kMetadata), 400);
  EXPECT_EQ(phase_ns(measurement, LoadPhase::kRead), 200);
  EXPECT_EQ(phase_ns(measurement, LoadPhase::kClose), 20);
  EXPECT_EQ(measurement.phases.duration().count(), 640);
  EXPECT_EQ(measurement.idle_ns, 0);
}

TEST(LoadSequence, KeepsTheQueueFull) {
  VirtualRank rank({file_spec(0)}, 4096, 512, 4);
  rank.drive();
  EXPECT_EQ(rank.measurement().latency.maximum_ns(), 400) << "four reads, one after the other on the drive";
  EXPECT_EQ(rank.measurement().phases.duration().count(),
            20 + 100 * static_cast<std::int64_t>(rank.target().count(Kind::kRead)))
      << "the drive never waits for the next read";
}

TEST(LoadSequence, PutsReadsThatOvertakeEachOtherInOrder) {
  VirtualRank rank({file_spec(0), file_of_many_records()}, 4096, 512, 4);
  rank.target().let_reads_overtake();
  EXPECT_EQ(rank.difference(), "");
  EXPECT_EQ(rank.measurement().file_bytes, rank.archive(0).bytes.size() + rank.archive(1).bytes.size());
}

TEST(LoadSequence, ReadsTheRestOfADirectoryThatIsLargerThanTheTail) {
  VirtualRank rank({file_of_many_records()}, 1 << 20);
  EXPECT_EQ(rank.difference(), "");
  EXPECT_EQ(rank.target().count(Kind::kRead), 3U) << "tail, records, directory";
}

TEST(LoadSequence, ADirectoryOfManyBlocksAndFewBuffersIsRead) {
  for (const int depth : {1, 2, 3, 40}) {
    VirtualRank rank({file_of_many_records(), file_spec(0)}, 4096, 512, static_cast<std::uint64_t>(depth));
    EXPECT_EQ(rank.difference(), "") << depth;
  }
}

TEST(LoadSequence, ARankWithoutFilesDoesNothing) {
  VirtualRank rank({});
  EXPECT_FALSE(rank.drive().error().has_value());
  EXPECT_TRUE(rank.target().seen().empty());
  EXPECT_EQ(rank.measurement().phases.duration().count(), 0);
}

TEST(LoadSequence, NamesFileRecordAndOffsetOfAFlippedBit) {
  VirtualRank rank({file_spec(0), file_spec(1)});
  const std::uint64_t offset = payload_offset(rank.archive(1), "data/1");
  rank.flip(1, offset + 50'000);
  const std::string difference = rank.difference();
  EXPECT_THAT(difference, HasSubstr("file1.pt: at " + std::to_string(offset) + ": the 70001 bytes of "));
  EXPECT_THAT(difference, HasSubstr("file1/data/1 have the CRC-32"));
  EXPECT_EQ(rank.measurement().file_bytes, rank.archive(0).bytes.size());
  EXPECT_EQ(rank.target().pending(), 0U);
}

TEST(LoadSequence, SeesAFlippedBitInEveryRecordWhereverItIs) {
  const Archive archive = archive_of(file_spec(0));
  for (const torch::RecordDigest& record : archive.digest.records) {
    if (record.bytes == 0) continue;
    VirtualRank rank({file_spec(0)});
    rank.flip(0, record.payload_offset + record.bytes - 1);
    EXPECT_THAT(rank.difference(), HasSubstr("file0.pt: at ")) << record.name;
  }
}

TEST(LoadSequence, TellsAnotherCheckpointsFileFromTheOneThatWasSaved) {
  VirtualRank rank({file_spec(0)});
  rank.specs()[0].entries.back().value = std::int64_t{101'000};
  EXPECT_THAT(rank.difference(),
              HasSubstr("file0/data.pkl: 'iteration' = 100000 is where 'iteration' = 101000 "
                        "was saved"));
}

TEST(LoadSequence, TellsOtherTensorsFromThoseThatWereSaved) {
  VirtualRank rank({file_spec(0)});
  rank.specs()[0].entries[1].key = "other";
  EXPECT_THAT(rank.difference(), HasSubstr("'state', a ByteStorage of shape [70001] is where 'other'"));
}

TEST(LoadSequence, FindsAFileThatIsShorterOrLonger) {
  for (const std::uint64_t alignment : {std::uint64_t{1}, std::uint64_t{512}}) {
    VirtualRank shorter({file_spec(0)}, 4096, alignment);
    const std::uint64_t size = shorter.archive(0).bytes.size();
    shorter.damage(0, shorter.archive(0).bytes.substr(0, size - 1));
    EXPECT_THAT(shorter.difference(),
                HasSubstr("file0.pt: at " + std::to_string(size - 1) + ": the file ends here"));
    VirtualRank longer({file_spec(0)}, 4096, alignment);
    longer.damage(0, longer.archive(0).bytes + "x");
    EXPECT_THAT(longer.difference(),
                HasSubstr("file0.pt: at " + std::to_string(size) + ": the file goes on"));
  }
}

TEST(LoadSequence, SeesAFileThatLostItsLastBytesOnlyAfterItsTailWasRead) {
  VirtualRank rank({file_spec(0)}, 1 << 20, 512);
  rank.damage(0, std::string(rank.archive(0).bytes.size(), '\0'));
  EXPECT_THAT(rank.difference(), HasSubstr("no end record of a zip archive"));
}

TEST(LoadSequence, AFailedReadHasItsFileAndOffsetAndEndsTheSequence) {
  VirtualRank rank({file_spec(0), file_spec(1)});
  rank.target().fail(Kind::kRead, 20, std::errc::io_error);
  const std::optional<LoadError>& error = rank.drive().error();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->operation, "read");
  EXPECT_EQ(error->path, "file0.pt");
  EXPECT_EQ(error->offset, rank.target().seen()[20].offset) << "the open is the first request";
  EXPECT_EQ(error->code, std::errc::io_error);
  EXPECT_EQ(rank.target().pending(), 0U);
  EXPECT_TRUE(rank.target().take_buffer().valid());
}

TEST(LoadSequence, AFileThatCannotBeOpenedOrClosedIsNamed) {
  VirtualRank unopened({file_spec(0), file_spec(1)});
  unopened.target().fail(Kind::kOpenToRead, 2, std::errc::no_such_file_or_directory);
  EXPECT_EQ(unopened.drive().error()->operation, "open");
  EXPECT_EQ(unopened.drive().error()->path, "file1.pt");
  VirtualRank unclosed({file_spec(0)});
  unclosed.target().fail(Kind::kClose, 1, std::errc::io_error);
  EXPECT_EQ(unclosed.drive().error()->operation, "close");
}

TEST(LoadSequence, AStopEndsItWithoutAnError) {
  VirtualRank rank({file_spec(0)});
  rank.stop();
  EXPECT_FALSE(rank.drive().error().has_value());
  EXPECT_TRUE(rank.drive().stopped());
  EXPECT_TRUE(rank.target().seen().empty());
}

}  // namespace
}  // namespace ckptsim::simulator
