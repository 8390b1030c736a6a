#include "simulator/plan/content_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "models/errors.h"
#include "simulator/plan/plan.h"

namespace ckptsim::simulator {
namespace {

RunConfig config_with(double duplicate_fraction, std::uint64_t alignment_bytes,
                      const std::string& kind = "random") {
  RunConfig config;
  config.content_kind = kind;
  config.content_duplicate_fraction = duplicate_fraction;
  config.storage.alignment_bytes = alignment_bytes;
  return config;
}

// The fewest bytes of a checkpoint that check_duplicates() lets pass, in MiB.
std::uint64_t least_mebibytes(const RunConfig& config) {
  std::uint64_t mebibytes = 0;
  for (std::uint64_t step = std::uint64_t{1} << 20; step > 0; step /= 2) {
    try {
      check_duplicates(config, (mebibytes + step - 1) << 20U);
    } catch (const ConfigError&) {
      mebibytes += step;
    }
  }
  return mebibytes;
}

TEST(ContentSettings, CarryWhatTheConfigurationSays) {
  RunConfig config = config_with(0.5, 64, "weights");
  config.content_compressible_fraction = 0.25;
  const storage::ContentSettings settings = content_settings(config);
  EXPECT_EQ(settings.kind, storage::ContentKind::kWeights);
  EXPECT_EQ(settings.compressible_fraction, 0.25);
  EXPECT_EQ(settings.duplicate_fraction, 0.5);
  EXPECT_EQ(content_settings(RunConfig{}).kind, storage::ContentKind::kRandom);
}

TEST(ContentSettings, DuplicatesNeedACheckpointInWhichThePoolDoesNotCount) {
  EXPECT_EQ(least_mebibytes(config_with(0, 64)), 0U);
  EXPECT_EQ(least_mebibytes(config_with(1, 4096)), 200U);
  EXPECT_EQ(least_mebibytes(config_with(1, 32768)), 200U);
  EXPECT_EQ(least_mebibytes(config_with(0.5, 4096)), 100U);
  EXPECT_EQ(least_mebibytes(config_with(1, 64)), 64 * 200U);
  EXPECT_EQ(least_mebibytes(config_with(1, 4096, "weights")), 4 * 200U);
}

TEST(ContentSettings, APlanSaysWhatToDoAboutTooSmallACheckpoint) {
  try {
    (void)make_plan(
        load_run_config("llama3.1-405b-tp4pp2", {"scale=0.0001", "content.duplicate_fraction=0.5"}));
    FAIL() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "content.duplicate_fraction 0.5 with storage.alignment_bytes 64 needs a checkpoint of 6.71 GB, "
        "and this one has 0.16 GB; set storage.alignment_bytes to 4096, or raise scale");
  }
  EXPECT_NO_THROW((void)make_plan(
      load_run_config("llama3.1-405b-tp4pp2", {"content.duplicate_fraction=1", "content.kind=weights"})));
}

}  // namespace
}  // namespace ckptsim::simulator
