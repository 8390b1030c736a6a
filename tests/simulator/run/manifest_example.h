#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "simulator/run/manifest.h"
#include "storage/torch/crc32.h"

namespace ckptsim::simulator {

// Two ranks' three files: two of a tensor and the run's state, one of two tensors.
struct ManifestExample {
  std::vector<storage::torch::FileSpec> first = {
      {"a.pt",
       {{"w", storage::torch::TensorSpec{storage::torch::ScalarType::kBFloat16, {3, 5}}},
        {"iteration", std::int64_t{100000}}}}};
  std::vector<storage::torch::FileSpec> second = {
      {"b.pt",
       {{"x.absmax1", storage::torch::TensorSpec{storage::torch::ScalarType::kFloat32, {7}}},
        {"x.state1", storage::torch::TensorSpec{storage::torch::ScalarType::kUInt8, {2, 2}}}}},
      {"sub/c.pt",
       {{"w", storage::torch::TensorSpec{storage::torch::ScalarType::kBFloat16, {}}},
        {"rng \"state\"", std::string("a\\b")}}}};
  storage::torch::FileDigest digest{
      .file_bytes = 100, .crc32 = 0xab, .records = {{"data.pkl", 64, 10, 0xcd}, {"data/0", 128, 30, 0xef}}};

  [[nodiscard]] std::string text() const {
    RunConfig config;
    config.name = "n";
    config.content_seed = 3;
    config.content_kind = "weights";
    config.content_compressible_fraction = 0.5;
    config.content_duplicate_fraction = 0.25;
    const std::string head =
        manifest_head(config, {.pass = 2, .warmup = true, .checkpoint = 4, .content_pass = 1000002});
    return seal_manifest(head, {.part = 2, .parts = 3},
                         {ManifestFiles(0, first).text(first, {digest}),
                          ManifestFiles(1, second).text(second, {digest, digest})});
  }
};

// Gives a text that ends as a manifest the CRC of its bytes.
inline std::string resealed(std::string text) {
  constexpr std::size_t kDigitsAndEnd = 12;
  const std::size_t covered = text.size() - kDigitsAndEnd;
  const std::uint32_t crc = storage::torch::crc32(0, std::as_bytes(std::span(text).first(covered)));
  return text.replace(covered, 8, fmt::format("{:08x}", crc));
}

// Any JSON object as a manifest with a right CRC.
inline std::string sealed(const nlohmann::ordered_json& members) {
  nlohmann::ordered_json all = members;
  all.erase("manifest_crc32");
  const std::string text = all.dump(1);
  return resealed(text.substr(0, text.size() - 2) + ",\n \"manifest_crc32\": \"00000000\"\n}\n");
}

}  // namespace ckptsim::simulator
