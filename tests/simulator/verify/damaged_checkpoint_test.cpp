#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>
#include <string>
#include <vector>

#include "simulator/verify/verify.h"
#include "small_checkpoint.h"
#include "storage/torch/archive_layout.h"
#include "storage/torch/archive_place.h"
#include "storage/torch/crc32.h"

namespace ckptsim::simulator {
namespace {

namespace fs = std::filesystem;
namespace torch = storage::torch;
using simulator::testing::SmallCheckpoint;
using ::testing::HasSubstr;

void overwrite(const fs::path& file, std::uint64_t offset, char byte) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.put(byte);
  ASSERT_TRUE(stream.flush().good()) << file;
}

void flip(const fs::path& file, std::uint64_t offset, unsigned bit) {
  const std::string bytes = test::read_file(file);
  overwrite(file, offset, static_cast<char>(bytes.at(offset) ^ (1 << bit)));
}

// Of the one checkpoint.
std::vector<Finding> findings(const SmallCheckpoint& checkpoint) {
  const VerifyResult result = checkpoint.verified();
  EXPECT_EQ(result.checkpoints.size(), 1U);
  const bool right = result.checkpoints.at(0).findings.empty();
  EXPECT_EQ(result.exit_code(), right ? ExitCode::kDone : ExitCode::kVerification);
  return result.checkpoints.at(0).findings;
}

// The one thing that is wrong.
Finding finding(const SmallCheckpoint& checkpoint) {
  const std::vector<Finding> all = findings(checkpoint);
  EXPECT_EQ(all.size(), 1U) << (all.size() > 1 ? sentence(all[1]) : "");
  return all.empty() ? Finding{} : all[0];
}

struct NamedConfig {
  std::string name;
  RunConfig config;
};

std::vector<NamedConfig> configs() {
  std::vector<NamedConfig> all(4);
  all[0].name = "random";
  all[1].name = "weights";
  all[1].config.content_kind = "weights";
  all[2].name = "shrinkable";
  all[2].config.content_compressible_fraction = 0.5;
  all[2].config.content_duplicate_fraction = 0.25;
  all[3].name = "dialect_113";
  all[3].config.storage.torch_dialect = "1.13";
  all[3].config.content_seed = 77;
  return all;
}

class DamagedCheckpoint : public ::testing::TestWithParam<NamedConfig> {
 protected:
  SmallCheckpoint checkpoint_{GetParam().config};
};

TEST_P(DamagedCheckpoint, IsRightBeforeAnythingIsDamaged) {
  EXPECT_THAT(findings(checkpoint_), ::testing::IsEmpty());
  EXPECT_EQ(checkpoint_.verified(3).exit_code(), ExitCode::kDone);
}

// A place to flip a bit: one third in manifests, headers, pickles and directories, two thirds in tensors.
struct Place {
  std::string file;
  std::uint64_t offset = 0;
};

class Places {
 public:
  Places(const SmallCheckpoint& checkpoint, unsigned seed) : random_(seed) {
    manifest_bytes_ = fs::file_size(checkpoint.folder() / "manifest.json");
    for (const torch::FileSpec& spec : SmallCheckpoint::files())
      layouts_.push_back({spec, torch::lay_out_archive(spec, archive_options(checkpoint.config()))});
  }

  [[nodiscard]] Place next() {
    const std::uint64_t kind = below(6);
    if (kind == 0) return {"manifest.json", below(manifest_bytes_)};
    const bool in_tensor = kind >= 2;
    for (;;) {
      const auto& [spec, layout] = layouts_[below(layouts_.size())];
      Place place{spec.name, below(layout.file_bytes)};
      if (torch::place_in_archive(layout, place.offset).tensor.has_value() == in_tensor) return place;
    }
  }

  [[nodiscard]] unsigned bit() { return static_cast<unsigned>(below(8)); }

  // What a finding of that place says.
  void expect_named(const Finding& finding, const Place& place) const {
    EXPECT_EQ(finding.file, place.file);
    if (place.file == "manifest.json") {
      EXPECT_EQ(finding.kind, "manifest");
      return;
    }
    for (const auto& [spec, layout] : layouts_) {
      if (spec.name == place.file) expect_place(finding, spec, layout, place.offset);
    }
  }

 private:
  static void expect_place(const Finding& finding, const torch::FileSpec& spec,
                           const torch::ArchiveLayout& layout, std::uint64_t offset) {
    EXPECT_EQ(finding.kind, "bytes");
    EXPECT_EQ(finding.offset, offset);
    EXPECT_EQ(finding.bytes, 1U);
    EXPECT_EQ(finding.wrong_bytes, 1U);
    std::uint64_t number = 0;
    bool in_a_tensor = false;
    for (const torch::Entry& entry : spec.entries) {
      if (!std::holds_alternative<torch::TensorSpec>(entry.value)) continue;
      const std::string record = "data/" + std::to_string(number++);
      for (const torch::RecordLayout& at : layout.records) {
        if (at.name != record || offset < at.payload_offset || offset >= at.payload_offset + at.entry.bytes)
          continue;
        in_a_tensor = true;
        EXPECT_EQ(finding.record, record);
        EXPECT_EQ(finding.tensor, entry.key);
        EXPECT_EQ(finding.tensor_offset, offset - at.payload_offset);
        EXPECT_EQ(finding.part, "payload");
      }
    }
    EXPECT_EQ(finding.tensor.empty(), !in_a_tensor);
  }

  struct NamedLayout {
    torch::FileSpec spec;
    torch::ArchiveLayout layout;
  };
  std::uint64_t below(std::uint64_t count) {
    return std::uniform_int_distribution<std::uint64_t>(0, count - 1)(random_);
  }

  std::mt19937_64 random_;
  std::uint64_t manifest_bytes_ = 0;
  std::vector<NamedLayout> layouts_;
};

TEST_P(DamagedCheckpoint, ShowsEverySingleFlippedBitInItsPlace) {
  constexpr int kFlips = 250;  // for each of four configurations
  constexpr unsigned kSeed = 20261201;
  RecordProperty("seed", static_cast<int>(kSeed));
  std::cout << "seed " << kSeed << ", " << kFlips << " bits\n";
  Places places(checkpoint_, kSeed);
  for (int i = 0; i < kFlips; ++i) {
    const Place place = places.next();
    const unsigned bit = places.bit();
    SCOPED_TRACE(place.file + " at " + std::to_string(place.offset) + " bit " + std::to_string(bit));
    flip(checkpoint_.folder() / place.file, place.offset, bit);
    places.expect_named(finding(checkpoint_), place);
    flip(checkpoint_.folder() / place.file, place.offset, bit);
  }
  EXPECT_THAT(findings(checkpoint_), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Contents, DamagedCheckpoint, ::testing::ValuesIn(configs()),
                         [](const auto& of) { return of.param.name; });

TEST(DamagedFiles, AreFoundAtEveryLength) {
  const SmallCheckpoint checkpoint;
  const fs::path file = checkpoint.folder() / "a.pt";
  const std::string bytes = test::read_file(file);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, bytes.size() - 1}) {
    test::write_text(file, bytes.substr(0, length));
    const Finding found = finding(checkpoint);
    EXPECT_EQ(found.kind, "too_short");
    EXPECT_EQ(found.offset, length);
    EXPECT_EQ(found.wrong_bytes, bytes.size() - length);
  }
  test::write_text(file, bytes + "more");
  const Finding found = finding(checkpoint);
  EXPECT_EQ(found.kind, "too_long");
  EXPECT_EQ(found.offset, bytes.size());
  EXPECT_EQ(found.wrong_bytes, 4U);
}

TEST(DamagedFiles, AShorterFileIsStillComparedAsFarAsItReaches) {
  const SmallCheckpoint checkpoint;
  const fs::path file = checkpoint.folder() / "a.pt";
  const std::string bytes = test::read_file(file);
  test::write_text(file, bytes.substr(0, bytes.size() - 10));
  flip(file, 5000, 3);
  const std::vector<Finding> all = findings(checkpoint);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].kind, "too_short");
  EXPECT_EQ(all[1].kind, "bytes");
  EXPECT_EQ(all[1].offset, 5000U);
}

TEST(DamagedFiles, OfAnotherPassCheckpointOrNameAreFound) {
  const SmallCheckpoint checkpoint;
  const torch::FileSpec spec = SmallCheckpoint::files()[0];
  const std::string right = test::read_file(checkpoint.folder() / "a.pt");
  (void)checkpoint.write(spec, 2, 1);
  EXPECT_GT(findings(checkpoint).size(), 1U) << "nobody looks at passes that are still to come";
  (void)checkpoint.write(spec, 1, 2);
  ASSERT_EQ(findings(checkpoint).size(), 1U);
  EXPECT_EQ(findings(checkpoint)[0].words, "holds what pass 1, checkpoint 2 wrote in it");
  test::write_text(checkpoint.folder() / "a.pt", right);
  ASSERT_THAT(findings(checkpoint), ::testing::IsEmpty());
  fs::rename(checkpoint.folder() / "a.pt", checkpoint.folder() / "x.pt");
  fs::rename(checkpoint.folder() / "b.pt", checkpoint.folder() / "a.pt");
  fs::rename(checkpoint.folder() / "x.pt", checkpoint.folder() / "b.pt");
  EXPECT_EQ(checkpoint.verified().checkpoints.at(0).wrong_files, 2U);
  for (const Finding& finding : findings(checkpoint)) {
    if (finding.kind == "too_short" || finding.kind == "too_long") continue;  // they are of two sizes
    EXPECT_EQ(finding.words,
              finding.file == "a.pt" ? "holds the content of b.pt" : "holds the content of a.pt");
  }
}

TEST(DamagedFiles, MissingUnlistedLinkedAndOddOnesAreFound) {
  const SmallCheckpoint checkpoint;
  const fs::path file = checkpoint.folder() / "c.pt";
  const fs::path away = checkpoint.target() / "away.pt";
  fs::rename(file, away);
  EXPECT_EQ(finding(checkpoint).kind, "missing");
  fs::create_symlink(away, file);
  EXPECT_EQ(finding(checkpoint).kind, "not_a_file");
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(finding(checkpoint).kind, "not_a_file");
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(finding(checkpoint).kind, "not_a_file");
  fs::remove(file);
  fs::rename(away, file);
  test::write_text(checkpoint.folder() / "other.pt", "x");
  EXPECT_EQ(finding(checkpoint).kind, "unlisted");
  EXPECT_EQ(finding(checkpoint).file, "other.pt");
}

TEST(DamagedManifests, ThatAreLinksOrFifosAreFound) {
  const SmallCheckpoint checkpoint;
  const fs::path manifest = checkpoint.folder() / "manifest.json";
  const fs::path away = checkpoint.target() / "away.json";
  fs::rename(manifest, away);
  fs::create_symlink(away, manifest);
  EXPECT_THAT(finding(checkpoint).words, HasSubstr("is a link"));
  fs::remove(manifest);
  ASSERT_EQ(mkfifo(manifest.c_str(), 0600), 0);
  EXPECT_THAT(finding(checkpoint).words, HasSubstr("FIFO"));
}

// Gives a manifest that was changed the CRC of its bytes.
void reseal(const SmallCheckpoint& checkpoint, std::string text) {
  constexpr std::size_t kDigitsAndEnd = 12;
  const std::size_t covered = text.size() - kDigitsAndEnd;
  const std::uint32_t crc = torch::crc32(0, std::as_bytes(std::span(text).first(covered)));
  checkpoint.write_manifest(text.replace(covered, 8, fmt::format("{:08x}", crc)));
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(LyingManifests, WhoseRecordsAreNotThoseOfTheirEntriesAreFound) {
  const SmallCheckpoint checkpoint;
  const std::string right = checkpoint.manifest();
  reseal(checkpoint, changed(right, "\"shape\":[90,100]", "\"shape\":[90,101]"));
  Finding found = finding(checkpoint);
  EXPECT_EQ(found.kind, "layout");
  EXPECT_EQ(found.file, "a.pt");
  reseal(checkpoint, changed(right, "\"shape\":[90,100]", "\"shape\":[100,90]"));
  found = findings(checkpoint).at(0);
  EXPECT_EQ(found.kind, "bytes") << "of the pickle, and the CRCs of it";
  EXPECT_EQ(found.record, "data.pkl");
  reseal(checkpoint, changed(right, "\"name\":\"version\"", "\"name\":\"vertion\""));
  EXPECT_EQ(finding(checkpoint).kind, "layout");
}

TEST(LyingManifests, WithWrongCrcsOfRightBytesAreFound) {
  const SmallCheckpoint checkpoint;
  const std::string right = checkpoint.manifest();
  const std::size_t at = right.find("\"crc32\":\"") + 9;
  std::string wrong = right;
  wrong[at] = wrong[at] == '0' ? '1' : '0';
  reseal(checkpoint, wrong);
  const Finding found = finding(checkpoint);
  EXPECT_EQ(found.kind, "crc");
  EXPECT_EQ(found.file, "a.pt");
}

TEST(LyingManifests, WithAnotherSeedAreFoundAndToldFromBytesThatChanged) {
  const SmallCheckpoint checkpoint;
  reseal(checkpoint, changed(checkpoint.manifest(), "\"seed\": 1", "\"seed\": 2"));
  const std::vector<Finding> all = findings(checkpoint);
  ASSERT_GT(all.size(), 0U);
  EXPECT_THAT(all[0].words, HasSubstr("and so is the manifest's, but the seed makes other bytes"));
}

TEST(LyingManifests, ThatNameWhatIsOutsideTheirFolderAreRefused) {
  const SmallCheckpoint checkpoint;
  reseal(checkpoint, changed(checkpoint.manifest(), "\"name\":\"a.pt\"", "\"name\":\"../../x\""));
  const Finding found = finding(checkpoint);
  EXPECT_EQ(found.kind, "manifest");
  EXPECT_THAT(found.words, HasSubstr("'../../x'"));
}

TEST(LyingManifests, OfAnotherCheckpointOrRunAreFound) {
  const SmallCheckpoint checkpoint({}, {}, 2);
  ASSERT_THAT(findings(checkpoint), ::testing::IsEmpty());
  fs::rename(checkpoint.folder(), checkpoint.folder().parent_path() / "checkpoint_03");
  EXPECT_THAT(finding(checkpoint).words, HasSubstr("is that of checkpoint_02 and lies in checkpoint_03"));
  fs::rename(checkpoint.folder().parent_path() / "checkpoint_03", checkpoint.folder());
  fs::rename(checkpoint.folder().parent_path(), checkpoint.target() / "ckptsim" / "other");
  EXPECT_THAT(finding(checkpoint).words, HasSubstr("of the run small"));
}

TEST(ExitCodes, TellBytesThatAreWrongFromThoseThatCannotBeRead) {
  VerifyResult result;
  result.checkpoints.resize(2);
  EXPECT_EQ(result.exit_code(), ExitCode::kUnsuitable) << "neither is complete";
  result.checkpoints[1].complete = true;
  EXPECT_EQ(result.exit_code(), ExitCode::kDone);
  result.checkpoints[1].findings.push_back({.kind = "read_error", .file = "a.pt"});
  EXPECT_EQ(result.exit_code(), ExitCode::kInputOutput);
  result.checkpoints[0].findings.push_back({.kind = "missing", .file = "b.pt"});
  EXPECT_EQ(result.exit_code(), ExitCode::kVerification);
}

}  // namespace
}  // namespace ckptsim::simulator
