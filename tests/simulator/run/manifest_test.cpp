#include "simulator/run/manifest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/torch/crc32.h"

namespace ckptsim::simulator {
namespace {

std::string example() {
  RunConfig config;
  config.name = "n";
  config.content_seed = 3;
  config.content_kind = "weights";
  config.content_compressible_fraction = 0.5;
  config.content_duplicate_fraction = 0.25;
  const std::string head =
      manifest_head(config, {.pass = 2, .warmup = false, .checkpoint = 4, .content_pass = 2});
  storage::torch::FileDigest digest{
      .file_bytes = 100, .crc32 = 0xab, .records = {{"data.pkl", 64, 10, 0xcd}}};
  return seal_manifest(
      head, {manifest_files(0, {"a.pt"}, {digest}), manifest_files(1, {"b.pt", "c.pt"}, {digest, digest})});
}

TEST(Manifest, IsJsonWithEveryFileAndRecord) {
  const nlohmann::json manifest = nlohmann::json::parse(example());
  EXPECT_EQ(manifest.at("schema"), "ckptsim.manifest/1");
  EXPECT_EQ(manifest.at("pass"), 2);
  EXPECT_EQ(manifest.at("checkpoint"), 4);
  EXPECT_EQ(manifest.at("content").at("seed"), 3);
  EXPECT_EQ(manifest.at("content").at("kind"), "weights");
  EXPECT_EQ(manifest.at("content").at("compressible_fraction"), 0.5);
  EXPECT_EQ(manifest.at("content").at("duplicate_fraction"), 0.25);
  EXPECT_EQ(manifest.at("torch_dialect"), "current") << "auto would not say how the files were written";
  ASSERT_EQ(manifest.at("files").size(), 3U);
  EXPECT_EQ(manifest.at("files")[2].at("name"), "c.pt");
  EXPECT_EQ(manifest.at("files")[0].at("crc32"), "000000ab");
  EXPECT_EQ(manifest.at("files")[0].at("records")[0].at("offset"), 64);
}

TEST(Manifest, EndsWithTheCrcOfAllBytesBeforeItsDigits) {
  const std::string text = example();
  const std::string digits = nlohmann::json::parse(text).at("manifest_crc32");
  const std::size_t position = text.rfind(digits);
  const std::uint32_t crc = storage::torch::crc32(0, std::as_bytes(std::span(text).first(position)));
  EXPECT_EQ(std::stoul(digits, nullptr, 16), crc);
  EXPECT_EQ(text.substr(position + digits.size()), "\"\n}\n");
}

TEST(Manifest, OfRanksWithoutFilesIsStillJson) {
  EXPECT_TRUE(nlohmann::json::accept(seal_manifest(manifest_head({}, {}), {})));
  EXPECT_EQ(manifest_files(3, {}, {}), "");
}

}  // namespace
}  // namespace ckptsim::simulator
