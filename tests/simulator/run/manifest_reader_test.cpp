#include "simulator/run/manifest_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "manifest_example.h"
#include "storage/errors.h"

namespace ckptsim::simulator {
namespace {

using Json = nlohmann::ordered_json;
using storage::torch::TensorSpec;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// What reading the text throws, or "" where it is taken.
std::string refusal(const std::string& text) {
  try {
    (void)read_manifest(text, "DIR/manifest.json");
  } catch (const storage::FormatError& error) {
    return error.what();
  }
  return "";
}

TEST(ManifestReader, ReadsWhatWasWritten) {
  const ManifestExample example;
  const Manifest manifest = read_manifest(example.text(), "origin");
  EXPECT_EQ(manifest.name, "n");
  EXPECT_EQ(manifest.pass, 2);
  EXPECT_TRUE(manifest.warmup);
  EXPECT_EQ(manifest.checkpoint, 4);
  EXPECT_EQ(manifest.seed, 3U);
  EXPECT_EQ(manifest.content.kind, storage::ContentKind::kWeights);
  EXPECT_EQ(manifest.content.compressible_fraction, 0.5);
  EXPECT_EQ(manifest.content.duplicate_fraction, 0.25);
  EXPECT_EQ(manifest.content_pass, 1000002U);
  EXPECT_EQ(manifest.archive.dialect, storage::torch::Dialect::kCurrent);
  EXPECT_EQ(manifest.archive.alignment_bytes, 64U);
  EXPECT_TRUE(manifest.synced);
  EXPECT_EQ(manifest.part.part, 2U);
  EXPECT_EQ(manifest.part.parts, 3U);
}

TEST(ManifestReader, ReadsFilesWithRecordsAndEntries) {
  const Manifest manifest = read_manifest(ManifestExample().text(), "origin");
  ASSERT_EQ(manifest.files.size(), 3U);
  const ManifestFile& file = manifest.files[1];
  EXPECT_EQ(file.name, "b.pt");
  EXPECT_EQ(file.rank, 1);
  EXPECT_EQ(file.file_bytes, 100U);
  EXPECT_EQ(file.crc32, 0xabU);
  ASSERT_EQ(file.records.size(), 2U);
  EXPECT_EQ(file.records[1].name, "data/0");
  EXPECT_EQ(file.records[1].payload_offset, 128U);
  EXPECT_EQ(file.records[1].bytes, 30U);
  EXPECT_EQ(file.records[1].crc32, 0xefU);
  EXPECT_EQ(file.spec.name, "b.pt");
  ASSERT_EQ(file.spec.entries.size(), 2U);
  EXPECT_EQ(file.spec.entries[0].key, "x.absmax1");
  EXPECT_EQ(std::get<TensorSpec>(file.spec.entries[1].value).type, storage::torch::ScalarType::kUInt8);
  EXPECT_EQ(std::get<TensorSpec>(file.spec.entries[1].value).shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(std::get<std::int64_t>(manifest.files[0].spec.entries[1].value), 100000);
  EXPECT_EQ(std::get<std::string>(manifest.files[2].spec.entries[1].value), "a\\b");
  EXPECT_EQ(manifest.files[2].name, "sub/c.pt");
}

TEST(ManifestReader, FindsEveryFlippedBitAndEveryLength) {
  const std::string text = ManifestExample().text();
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(refusal(damaged), StartsWith("DIR/manifest.json: ")) << "bit " << bit;
  }
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(refusal(text.substr(0, length)), "") << length << " bytes";
  EXPECT_NE(refusal(text + "\n"), "");
}

TEST(ManifestReader, TellsAnEarlierVersionsManifestFromADamagedOne) {
  Json members = Json::parse(ManifestExample().text());
  members["schema"] = "ckptsim.manifest/1";
  EXPECT_THAT(refusal(sealed(members)), AllOf(HasSubstr("earlier version"), HasSubstr("new run")));
  members["schema"] = "ckptsim.manifest/3";
  EXPECT_THAT(refusal(sealed(members)), AllOf(HasSubstr("schema"), HasSubstr("ckptsim.manifest/2")));
}

struct Broken {
  std::function<void(Json&)> change;
  std::string words;  // of the refusal
};

Json& file(Json& manifest) {
  return manifest["files"][0];
}
Json& entry(Json& manifest) {
  return manifest["files"][0]["entries"][0];
}
Json& record(Json& manifest) {
  return manifest["files"][0]["records"][0];
}

std::vector<Broken> broken_heads() {
  return {
      {[](Json& m) { m.erase("name"); }, "has no member name"},
      {[](Json& m) { m["more"] = 1; }, "has a member more"},
      {[](Json& m) { m["name"] = "../n"; }, "name is '../n'"},
      {[](Json& m) { m["name"] = ".n"; }, "no name of a run"},
      {[](Json& m) { m["name"] = ""; }, "name is not a text of 1 to"},
      {[](Json& m) { m["name"] = std::string(200, 'n'); }, "name is not a text of 1 to"},
      {[](Json& m) { m["name"] = "a\nb"; }, "control character"},
      {[](Json& m) { m["schema"] = 2; }, "schema is not a text"},
      {[](Json& m) { m["pass"] = 0; }, "pass is 0"},
      {[](Json& m) { m["pass"] = -1; }, "pass is not a whole number"},
      {[](Json& m) { m["pass"] = 1.5; }, "pass is not a whole number"},
      {[](Json& m) { m["pass"] = "2"; }, "pass is not a whole number"},
      {[](Json& m) { m["pass"] = 3; }, "content.pass is not the one that belongs"},
      {[](Json& m) { m["warmup"] = false; }, "content.pass is not the one that belongs"},
      {[](Json& m) { m["warmup"] = 1; }, "warmup is neither true nor false"},
      {[](Json& m) { m["checkpoint"] = 0; }, "checkpoint is 0"},
      {[](Json& m) { m["checkpoint"] = std::uint64_t{1} << 40U; }, "checkpoint is 1099511627776"},
      {[](Json& m) { m["content"] = Json::array(); }, "content is not an object"},
      {[](Json& m) { m["content"]["seed"] = -3; }, "content.seed is not a whole number"},
      {[](Json& m) { m["content"]["kind"] = "zeros"; }, "content.kind is neither"},
      {[](Json& m) { m["content"]["compressible_fraction"] = 1.25; }, "compressible_fraction is 1.25"},
      {[](Json& m) { m["content"]["duplicate_fraction"] = -0.5; }, "duplicate_fraction is -0.5"},
      {[](Json& m) { m["content"]["duplicate_fraction"] = "0"; }, "duplicate_fraction is not a number"},
      {[](Json& m) { m["content"].erase("pass"); }, "content has no member pass"},
      {[](Json& m) { m["torch_dialect"] = "2.0"; }, "torch_dialect is neither"},
      {[](Json& m) { m["alignment_bytes"] = 65; }, "alignment_bytes is not a power of two"},
      {[](Json& m) { m["alignment_bytes"] = 32; }, "alignment_bytes is 32"},
      {[](Json& m) { m["synced"] = nullptr; }, "synced is neither"},
      {[](Json& m) { m["part"] = 0; }, "part is 0"},
      {[](Json& m) { m["part"] = 4; }, "part is 4"},
      {[](Json& m) { m["parts"] = 0; }, "parts is 0"},
      {[](Json& m) { m["files"] = 7; }, "files is not an array"},
      {[](Json& m) { m["files"] = Json::object(); }, "files is not an array"},
      {[](Json& m) {
         m = Json::object({{"schema", "x"}});
       },
       "schema is not ckptsim.manifest/2"},
      {[](Json& m) {
         m = Json::object({{"a", Json::parse("[[[[[[[[1]]]]]]]]")}});
       },
       "nested more than 6"},
  };
}

std::vector<Broken> broken_file_names() {
  std::vector<Broken> all;
  for (const char* const name : {"../x.pt",
                                 "../../x",
                                 "/etc/passwd",
                                 "/x.pt",
                                 "",
                                 ".",
                                 "..",
                                 ".pt",
                                 ".hidden.pt",
                                 "x",
                                 "x.pt/",
                                 "a//b.pt",
                                 "a/b/c.pt",
                                 "./a.pt",
                                 "../a.pt",
                                 ".a/b.pt",
                                 "a/../b.pt",
                                 "a/.b.pt",
                                 "a\\b.pt",
                                 "manifest.json",
                                 "a/manifest.json",
                                 "a\x1b[31m.pt",
                                 "a\n.pt",
                                 "a\x7f.pt",
                                 "a\u009b.pt",
                                 "a\u202e.pt"}) {
    all.push_back({[name](Json& m) { file(m)["name"] = name; }, "files[0].name is "});
  }
  return all;
}

std::vector<Broken> broken_files() {
  return {
      {[](Json& m) { m["files"][0] = "a.pt"; }, "files[0] is not an object"},
      {[](Json& m) { m["files"].push_back(m["files"][0]); }, "files[3] is a second a.pt"},
      {[](Json& m) { file(m).erase("entries"); }, "files[0] has no member entries"},
      {[](Json& m) { file(m)["size"] = 1; }, "files[0] has a member size"},
      {[](Json& m) { file(m)["name"] = 3; }, "files[0].name is not a text"},
      {[](Json& m) { file(m)["rank"] = -1; }, "files[0].rank is not a whole number"},
      {[](Json& m) { file(m)["file_bytes"] = -100; }, "files[0].file_bytes is not a whole number"},
      {[](Json& m) { file(m)["file_bytes"] = 1e30; }, "files[0].file_bytes is not a whole number"},
      {[](Json& m) { file(m)["crc32"] = "000000AB"; }, "files[0].crc32 is not a CRC"},
      {[](Json& m) { file(m)["crc32"] = "0xab"; }, "files[0].crc32 is not a CRC"},
      {[](Json& m) { file(m)["crc32"] = 171; }, "files[0].crc32 is not a text"},
      {[](Json& m) { record(m).erase("bytes"); }, "files[0].records[0] has no member bytes"},
      {[](Json& m) { record(m)["offset"] = -64; }, "files[0].records[0].offset is not a whole number"},
      {[](Json& m) { record(m)["name"] = "data/0"; }, "files[0].records[1] is a second data/0"},
      {[](Json& m) { record(m)["name"] = "a\tb"; }, "control character"},
  };
}

std::vector<Broken> broken_entries() {
  return {
      {[](Json& m) {
         entry(m) = Json::object({{"key", "w"}});
       },
       "entries[0] has no member dtype"},
      {[](Json& m) { entry(m)["value"] = 3; }, "entries[0] has a member dtype"},
      {[](Json& m) { entry(m)["key"] = "iteration"; }, "entries[1] is a second iteration"},
      {[](Json& m) { entry(m)["dtype"] = "fp64"; }, "entries[0].dtype is not bf16"},
      {[](Json& m) { entry(m)["shape"] = 15; }, "entries[0].shape is not an array"},
      {[](Json& m) {
         entry(m)["shape"] = {3, -5};
       },
       "entries[0].shape[1] is not a whole number"},
      {[](Json& m) {
         entry(m)["shape"] = {3, "5"};
       },
       "entries[0].shape[1] is not a whole number"},
      {[](Json& m) {
         entry(m)["shape"] = {INT64_MAX, 2};
       },
       "entries[0].shape is of more bytes"},
      {[](Json& m) {
         entry(m)["shape"] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
       },
       "of more bytes"},
      {[](Json& m) { entry(m)["shape"] = {std::int64_t{1} << 62}; }, "of more bytes"},
      {[](Json& m) { entry(m)["shape"] = std::vector<int>(17, 1); }, "shape has more than 16 dimensions"},
      {[](Json& m) { file(m)["entries"][1]["value"] = nullptr; }, "entries[1].value is not a whole number"},
      {[](Json& m) { file(m)["entries"][1]["value"] = UINT64_MAX; }, "entries[1].value is "},
      {[](Json& m) { file(m)["entries"][1]["value"] = 0.5; }, "entries[1].value is not a whole number"},
  };
}

TEST(ManifestReader, RefusesWhatThisProgramDoesNotWriteAndSaysWhere) {
  const std::string text = ManifestExample().text();
  ASSERT_EQ(refusal(sealed(Json::parse(text))), "") << "the tests' own sealing is right";
  for (const auto& list : {broken_heads(), broken_file_names(), broken_files(), broken_entries()}) {
    for (const Broken& broken : list) {
      Json manifest = Json::parse(text);
      broken.change(manifest);
      EXPECT_THAT(refusal(sealed(manifest)),
                  AllOf(StartsWith("DIR/manifest.json: "), HasSubstr(broken.words)))
          << manifest.dump();
    }
  }
}

TEST(ManifestReader, RefusesTensorsThatOnlyTogetherAreTooLarge) {
  Json manifest = Json::parse(ManifestExample().text());
  Json& entries = manifest["files"][1]["entries"];
  entries[0]["shape"] = {std::int64_t{1} << 59};  // 2^61 bytes
  EXPECT_EQ(refusal(sealed(manifest)), "");
  entries[1]["shape"] = {(std::int64_t{1} << 61) + 1};
  EXPECT_THAT(refusal(sealed(manifest)), HasSubstr("files[1].entries[1].shape is of more bytes"));
}

TEST(ManifestReader, RefusesTextThatJsonLibrariesReadDifferently) {
  const std::string text = ManifestExample().text();
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    const std::size_t at = other.find(from);
    return resealed(other.replace(at, from.size(), to));
  };
  EXPECT_THAT(refusal(changed("\"pass\": 2", "\"pass\": 2, \"pass\": 2")), HasSubstr("pass stands twice"));
  EXPECT_THAT(refusal(changed("\"pass\": 2", "\"pass\": 1e400")), HasSubstr("a number larger"));
  EXPECT_THAT(refusal(changed("\"pass\": 2", "\"pass\": 99999999999999999999")), HasSubstr("whole number"));
  EXPECT_THAT(refusal(changed("\"pass\": 2", "\"pass\": NaN")), HasSubstr("is not JSON at byte"));
  EXPECT_THAT(refusal(changed("\"pass\": 2", "\"pass\": 2,,")), HasSubstr("is not JSON at byte"));
  EXPECT_THAT(refusal(changed("\"n\"", "\"\xff\"")), HasSubstr("is not JSON at byte"));
  EXPECT_THAT(refusal(changed("\"n\"", "\"n\\u0000\"")), HasSubstr("control character"));
  EXPECT_THAT(refusal(resealed("[[\"0000000000000000\"\n}\n")), HasSubstr("is not JSON at byte"));
  std::string moved = text;
  moved.insert(1, "\"manifest_crc32\": \"00000000\",");
  moved.replace(moved.rfind("manifest_crc32"), 14, "something_else");
  EXPECT_THAT(refusal(resealed(moved)), HasSubstr("has a member something_else"));
}

TEST(ManifestReader, RefusesDeepNestingWithoutGoingThere) {
  const std::string deep(200000, '[');
  EXPECT_THAT(refusal(resealed("{\"a\":" + deep + "\"00000000\"\n}\n")), HasSubstr("nested more than 6"));
}

}  // namespace
}  // namespace ckptsim::simulator
