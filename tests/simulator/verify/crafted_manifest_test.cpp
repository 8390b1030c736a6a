// Manifests with a right CRC of their own that claim what is not so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simulator/verify/verify.h"
#include "small_checkpoint.h"
#include "storage/torch/archive_layout.h"
#include "tests/simulator/run/manifest_example.h"

namespace ckptsim::simulator {
namespace {

namespace fs = std::filesystem;
namespace torch = storage::torch;
using simulator::testing::SmallCheckpoint;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// What is claimed would take years to make; the test dies of a signal where somebody tries.
class CraftedManifest : public ::testing::Test {
 protected:
  static constexpr unsigned kMostSeconds = 240;
  void SetUp() override { alarm(kMostSeconds); }
  void TearDown() override { alarm(0); }
};

// A checkpoint of one file, a.pt, whose manifest claims `spec` and CRCs of zero.
class Claim {
 public:
  explicit Claim(torch::FileSpec spec, const RunConfig& config = {})
      : checkpoint_(config), spec_(std::move(spec)) {
    const torch::ArchiveLayout layout = torch::lay_out_archive(spec_, archive_options(config));
    claimed_bytes_ = layout.file_bytes;
    torch::FileDigest digest{.file_bytes = layout.file_bytes, .crc32 = 0, .records = {}};
    for (const torch::RecordLayout& record : layout.records)
      digest.records.push_back({record.name, record.payload_offset, record.entry.bytes, 0});
    const std::string head =
        manifest_head(checkpoint_.config(), {.pass = 1, .warmup = false, .checkpoint = 1, .content_pass = 1});
    checkpoint_.write_manifest(seal_manifest(head, {}, {ManifestFiles(0, {spec_}).text({spec_}, {digest})}));
    for (const char* const name : {"b.pt", "c.pt"})
      fs::remove(checkpoint_.folder() / name);
  }

  // The first bytes of the file that is claimed, at most `most`.
  [[nodiscard]] std::string beginning(std::size_t most) const {
    const RunConfig& config = checkpoint_.config();
    torch::ArchiveStream stream(spec_, archive_options(config), config.content_seed, 1, 1,
                                content_settings(config));
    std::string bytes(std::min<std::uint64_t>(most, claimed_bytes_), '\0');
    (void)stream.read(std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }

  // With these bytes as the file.
  [[nodiscard]] VerifyResult verified(const std::string& bytes) const {
    test::write_text(checkpoint_.folder() / "a.pt", bytes);
    return checkpoint_.verified();
  }
  [[nodiscard]] std::uint64_t claimed_bytes() const { return claimed_bytes_; }

 private:
  SmallCheckpoint checkpoint_;
  torch::FileSpec spec_;
  std::uint64_t claimed_bytes_ = 0;
};

torch::FileSpec one_tensor(std::int64_t bytes) {
  return {"a.pt",
          {{"w", torch::TensorSpec{torch::ScalarType::kUInt8, {bytes}}}, {"iteration", std::int64_t{1}}}};
}

TEST_F(CraftedManifest, OfAPetabyteEndsWithTheFileThatIsFound) {
  constexpr std::size_t kFound = 47000;
  const Claim claim(one_tensor(std::int64_t{1} << 50U));
  std::string bytes = claim.beginning(kFound);
  const VerifyResult result = claim.verified(bytes);
  EXPECT_EQ(result.exit_code(), ExitCode::kVerification);
  ASSERT_EQ(result.checkpoints.at(0).findings.size(), 1U);
  const Finding& found = result.checkpoints[0].findings[0];
  EXPECT_EQ(found.kind, "too_short");
  EXPECT_EQ(found.wrong_bytes, claim.claimed_bytes() - kFound);
  EXPECT_THAT(found.words, HasSubstr("its CRCs cannot be worked out"));

  bytes[40000] ^= 1;
  const VerifyResult flipped = claim.verified(bytes);
  ASSERT_EQ(flipped.checkpoints.at(0).findings.size(), 2U);
  EXPECT_EQ(flipped.checkpoints[0].findings[1].kind, "bytes");
  EXPECT_EQ(flipped.checkpoints[0].findings[1].offset, 40000U);
  EXPECT_EQ(flipped.checkpoints[0].findings[1].tensor, "w");
  EXPECT_EQ(flipped.checkpoints[0].findings[1].words, "") << "nothing of CRCs that nobody knows";
}

TEST_F(CraftedManifest, AnEmptyFileWhereMuchBelongsIsFoundAtOnce) {
  const Claim claim(one_tensor(200'000'000'000));
  const VerifyResult result = claim.verified("");
  ASSERT_EQ(result.checkpoints.at(0).findings.size(), 1U);
  EXPECT_EQ(result.checkpoints[0].findings[0].kind, "too_short");
  EXPECT_EQ(result.checkpoints[0].wrong_bytes, claim.claimed_bytes());
}

class Drawing {
 public:
  explicit Drawing(unsigned seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t count) {
    return std::uniform_int_distribution<std::uint64_t>(0, count - 1)(random_);
  }

  // Of one to three tensors, from none to 2^54 elements, each size as likely as the next.
  torch::FileSpec spec() {
    torch::FileSpec spec{"a.pt", {}};
    for (std::uint64_t i = 0, count = 1 + below(3); i < count; ++i) {
      const torch::ScalarType type = std::array{torch::ScalarType::kBFloat16, torch::ScalarType::kFloat32,
                                                torch::ScalarType::kUInt8}[below(3)];
      const auto size = [this] {
        return static_cast<std::int64_t>(below((std::uint64_t{1} << below(28)) + 1));
      };
      spec.entries.push_back({"w" + std::to_string(i), torch::TensorSpec{type, {size(), size()}}});
    }
    spec.entries.push_back({"iteration", std::int64_t{1}});
    return spec;
  }

  RunConfig config() {
    RunConfig config;
    if (below(2) == 0) config.content_kind = "weights";
    if (below(2) == 0) config.content_compressible_fraction = 0.5;
    if (below(2) == 0) config.content_duplicate_fraction = 0.25;
    if (below(4) == 0) config.storage.torch_dialect = "1.13";
    return config;
  }

 private:
  std::mt19937_64 random_;
};

TEST_F(CraftedManifest, OfAnySizesIsVerifiedAsFarAsTheFileReaches) {
  constexpr int kClaims = 200;
  constexpr unsigned kSeed = 20261201;
  Drawing draw(kSeed);
  int shorter = 0;
  for (int i = 0; i < kClaims; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", claim " + std::to_string(i));
    const Claim claim(draw.spec(), draw.config());
    const std::string bytes = claim.beginning(draw.below(100'000));
    const VerifyResult result = claim.verified(bytes);
    EXPECT_EQ(result.exit_code(), ExitCode::kVerification);
    EXPECT_EQ(result.checkpoints.at(0).wrong_bytes, claim.claimed_bytes() - bytes.size());
    const bool is_short = bytes.size() < claim.claimed_bytes();
    EXPECT_EQ(result.checkpoints[0].findings.at(0).kind, is_short ? "too_short" : "crc");
    shorter += is_short ? 1 : 0;
  }
  EXPECT_GT(shorter, kClaims / 2);
  EXPECT_LT(shorter, kClaims);
}

// Every number in the manifest, with its name.
void collect_numbers(Json& value, const std::string& name,
                     std::vector<std::pair<std::string, Json*>>& found) {
  if (value.is_number()) found.emplace_back(name, &value);
  if (!value.is_structured()) return;
  for (auto& [key, member] : value.items())
    collect_numbers(member, value.is_object() ? key : name, found);
}

TEST_F(CraftedManifest, WithAnyOtherNumberIsNotTakenForTheRightOne) {
  const SmallCheckpoint checkpoint;
  Json manifest = Json::parse(checkpoint.manifest());
  std::vector<std::pair<std::string, Json*>> numbers;
  collect_numbers(manifest, "", numbers);
  ASSERT_GT(numbers.size(), 50U);
  const std::vector<Json> others = {0,
                                    1,
                                    2,
                                    3,
                                    -1,
                                    0.5,
                                    std::int64_t{1} << 31U,
                                    std::int64_t{1} << 50U,
                                    std::int64_t{1} << 62U,
                                    std::numeric_limits<std::uint64_t>::max()};
  for (const auto& [name, number] : numbers) {
    const Json right = *number;
    for (const Json& other : others) {
      if (other == right) continue;
      *number = other;
      checkpoint.write_manifest(sealed(manifest));
      const ExitCode code = checkpoint.verified().exit_code();
      // No byte depends on the rank's number, and in files of less than a block nothing repeats.
      if (name == "rank" || name == "duplicate_fraction") {
        EXPECT_TRUE(code == ExitCode::kDone || code == ExitCode::kVerification) << name << " " << other;
      } else {
        EXPECT_EQ(code,
                  name == "parts" && other.is_number_integer() && other > 1 && other < std::int64_t{1} << 31U
                      ? ExitCode::kUnsuitable
                      : ExitCode::kVerification)
            << name << " " << right << " as " << other;
      }
    }
    *number = right;
  }
  checkpoint.write_manifest(sealed(manifest));
  EXPECT_EQ(checkpoint.verified().exit_code(), ExitCode::kDone);
}

}  // namespace
}  // namespace ckptsim::simulator
