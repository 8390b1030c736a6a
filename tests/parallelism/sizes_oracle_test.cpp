// Holds the sizes of every rank and file against tests/reference/sizes_oracle.py, which shares no code with
// the product.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>

#include "parallelism/checkpoint_files.h"
#include "tests/models/llama.h"

namespace ckptsim::parallelism {
namespace {

using nlohmann::json;

// 16 divides every cut dimension; 3, 5, 7 and 32 stages do not divide all of 32, 80 and 126 layers.
const auto kTopologies = {Topology{1, 1, 1, 0},  Topology{4, 2, 1, 0},  Topology{1, 3, 1, 0},
                          Topology{2, 5, 1, 0},  Topology{8, 7, 1, 0},  Topology{2, 2, 2, 0},
                          Topology{2, 2, 3, 1},  Topology{4, 5, 2, 1},  Topology{1, 1, 7, 1},
                          Topology{8, 32, 2, 1}, Topology{2, 2, 3, 3},  Topology{4, 3, 2, 3},
                          Topology{1, 1, 8, 3},  Topology{16, 1, 1, 3}, Topology{1, 1, 1, 1}};
constexpr std::array<const char*, 3> kScales{"1", "0.001", "0.0003"};

models::Transformer model_named(const std::string& name) {
  for (const models::Transformer& model :
       {models::testing::llama_8b(), models::testing::llama_70b(), models::testing::llama_405b()}) {
    if (model.name == name) return model;
  }
  throw std::logic_error("no model " + name);
}

std::string output_of(const std::string& command) {
  const auto close = [](std::FILE* pipe) { return pclose(pipe); };
  std::unique_ptr<std::FILE, decltype(close)> pipe(popen(command.c_str(), "r"), close);
  if (!pipe) throw std::runtime_error("cannot start: " + command);
  std::string output;
  std::array<char, 65536> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    output.append(buffer.data(), count);
  }
  if (pclose(pipe.release()) != 0) throw std::runtime_error("failed: " + command);
  return output;
}

// One process for all cases: an interpreter's start costs more than a case.
json oracle(const std::string& model, const std::string& recipe) {
  std::string command =
      fmt::format("/usr/bin/python3 '{}/tests/reference/sizes_oracle.py' --batch", CKPTSIM_SOURCE_DIR);
  for (const Topology& topology : kTopologies) {
    for (const char* scale : kScales) {
      command += fmt::format(" {}:{}:{}:{}:{}:{}:{}", model, recipe, topology.tensor, topology.pipeline,
                             topology.data, topology.zero_stage, scale);
    }
  }
  return json::parse(output_of(command));
}

struct Sizes {
  std::map<std::string, std::int64_t> rank_bytes;  // ranks that write, by number
  std::map<std::string, std::set<std::string>> rank_files;
  std::map<std::string, std::int64_t> files;
  std::int64_t total_bytes = 0;
  std::int64_t total_files = 0;
};

Sizes sizes_of(const models::Transformer& model, const std::string& recipe, const Topology& topology,
               double scale) {
  Sizes sizes;
  for (std::int64_t rank = 0; rank < topology.ranks(); ++rank) {
    for (const CheckpointFile& file :
         files_of_rank(model, models::training_state(recipe), topology, "deepspeed", scale, rank)) {
      const std::int64_t bytes = payload_bytes(file);
      sizes.rank_bytes[std::to_string(rank)] += bytes;
      sizes.rank_files[std::to_string(rank)].insert(file.name);
      sizes.files[file.name] = bytes;
      sizes.total_bytes += bytes;
      ++sizes.total_files;
    }
  }
  return sizes;
}

// The model, recipe and topology are taken from what the oracle says it reckoned, not from the order of the
// cases.
void expect_same(const json& expected) {
  const models::Transformer model = model_named(expected.at("model"));
  const Topology topology{expected.at("tp"), expected.at("pp"), expected.at("dp"), expected.at("zero")};
  const Sizes sizes = sizes_of(model, expected.at("recipe"), topology, expected.at("scale"));
  EXPECT_EQ(models::parameter_count(model), expected.at("parameters"));
  EXPECT_EQ(sizes.total_bytes, expected.at("total_bytes"));
  EXPECT_EQ(sizes.total_files, expected.at("total_files"));
  EXPECT_TRUE(json(sizes.rank_bytes) == expected.at("rank_bytes"));
  EXPECT_TRUE(json(sizes.rank_files) == expected.at("rank_files"));
  EXPECT_TRUE(json(sizes.files) == expected.at("files"));
}

std::string label(const json& expected) {
  json shortened = expected;
  for (const char* bulky : {"files", "rank_files", "rank_bytes"}) {
    shortened.erase(bulky);
  }
  return shortened.dump();
}

class SizesOracle : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(SizesOracle, AgreesOnEveryRankAndFile) {
  const auto& [model, recipe] = GetParam();
  const json cases = oracle(model, recipe);
  ASSERT_EQ(cases.size(), kTopologies.size() * kScales.size());
  for (const json& expected : cases) {
    ASSERT_EQ(expected.at("model"), model);
    ASSERT_EQ(expected.at("recipe"), recipe);
    SCOPED_TRACE(label(expected));
    expect_same(expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Llama31, SizesOracle,
                         ::testing::Combine(::testing::Values("llama3.1-8b", "llama3.1-70b", "llama3.1-405b"),
                                            ::testing::Values("adam8bit", "adam-mixed", "weights-only")));

}  // namespace
}  // namespace ckptsim::parallelism
