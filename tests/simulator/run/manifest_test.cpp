#include "simulator/run/manifest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "manifest_example.h"
#include "storage/torch/crc32.h"

namespace ckptsim::simulator {
namespace {

using Json = nlohmann::json;

TEST(Manifest, IsJsonWithEveryFileAndRecord) {
  const Json manifest = Json::parse(ManifestExample().text());
  EXPECT_EQ(manifest.at("schema"), "ckptsim.manifest/2");
  EXPECT_EQ(manifest.at("pass"), 2);
  EXPECT_EQ(manifest.at("checkpoint"), 4);
  EXPECT_EQ(manifest.at("content").at("seed"), 3);
  EXPECT_EQ(manifest.at("content").at("kind"), "weights");
  EXPECT_EQ(manifest.at("content").at("compressible_fraction"), 0.5);
  EXPECT_EQ(manifest.at("content").at("duplicate_fraction"), 0.25);
  EXPECT_EQ(manifest.at("torch_dialect"), "current") << "auto would not say how the files were written";
  EXPECT_EQ(manifest.at("part"), 2);
  EXPECT_EQ(manifest.at("parts"), 3);
  ASSERT_EQ(manifest.at("files").size(), 3U);
  EXPECT_EQ(manifest.at("files")[2].at("name"), "sub/c.pt");
  EXPECT_EQ(manifest.at("files")[2].at("rank"), 1);
  EXPECT_EQ(manifest.at("files")[0].at("crc32"), "000000ab");
  EXPECT_EQ(manifest.at("files")[0].at("records")[0].at("offset"), 64);
}

TEST(Manifest, DescribesTheEntriesOfEveryFileInOrder) {
  const Json manifest = Json::parse(ManifestExample().text());
  EXPECT_EQ(manifest.at("files")[0].at("entries"),
            Json::parse(R"([{"key": "w", "dtype": "bf16", "shape": [3, 5]},
                            {"key": "iteration", "value": 100000}])"));
  EXPECT_EQ(manifest.at("files")[1].at("entries"),
            Json::parse(R"([{"key": "x.absmax1", "dtype": "fp32", "shape": [7]},
                            {"key": "x.state1", "dtype": "uint8", "shape": [2, 2]}])"));
  EXPECT_EQ(manifest.at("files")[2].at("entries"), Json::parse(R"([{"key": "w", "dtype": "bf16", "shape": []},
                            {"key": "rng \"state\"", "value": "a\\b"}])"));
}

TEST(Manifest, TakesTheEntriesBehindTheTensorsAsTheyAreNow) {
  ManifestExample example;
  ManifestFiles files(0, example.first);
  (void)files.text(example.first, {example.digest});
  example.first[0].entries[1].value = std::int64_t{100001};
  const Json file = Json::parse(files.text(example.first, {example.digest}));
  EXPECT_EQ(file.at("entries")[1].at("value"), 100001);
  EXPECT_EQ(file.at("entries").size(), 2U);
}

TEST(Manifest, TakesRecordsAndTheirCrcsAsTheyAreNow) {
  ManifestExample example;
  ManifestFiles files(0, example.first);
  (void)files.text(example.first, {example.digest});
  example.digest.crc32 = 0xfedcba98;
  example.digest.records[1].crc32 = 1;
  Json file = Json::parse(files.text(example.first, {example.digest}));
  EXPECT_EQ(file.at("crc32"), "fedcba98");
  EXPECT_EQ(file.at("records")[0].at("crc32"), "000000cd");
  EXPECT_EQ(file.at("records")[1].at("crc32"), "00000001");
  example.digest.records[1].bytes = 31;
  example.digest.records.push_back({"version", 192, 2, 3});
  file = Json::parse(files.text(example.first, {example.digest}));
  EXPECT_EQ(file.at("records")[1].at("bytes"), 31);
  ASSERT_EQ(file.at("records").size(), 3U);
  EXPECT_EQ(file.at("records")[2].at("crc32"), "00000003");
}

TEST(Manifest, EndsWithTheCrcOfAllBytesBeforeItsDigits) {
  const std::string text = ManifestExample().text();
  const std::string digits = Json::parse(text).at("manifest_crc32");
  const std::size_t position = text.rfind(digits);
  const std::uint32_t crc = storage::torch::crc32(0, std::as_bytes(std::span(text).first(position)));
  EXPECT_EQ(std::stoul(digits, nullptr, 16), crc);
  EXPECT_EQ(text.substr(position + digits.size()), "\"\n}\n");
}

TEST(Manifest, OfRanksWithoutFilesIsStillJson) {
  EXPECT_TRUE(Json::accept(seal_manifest(manifest_head({}, {}), {}, {})));
  EXPECT_EQ(ManifestFiles(3, {}).text({}, {}), "");
}

}  // namespace
}  // namespace ckptsim::simulator
