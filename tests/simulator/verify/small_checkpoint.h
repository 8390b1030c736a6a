#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "simulator/config/run_config.h"
#include "simulator/plan/content_settings.h"
#include "simulator/plan/plan.h"
#include "simulator/run/manifest.h"
#include "simulator/verify/verify.h"
#include "storage/torch/archive_stream.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::simulator::testing {

// Three files and a manifest as a run writes them, in TARGET/ckptsim/small/checkpoint_01.
class SmallCheckpoint {
 public:
  explicit SmallCheckpoint(RunConfig config = {}, ManifestPart part = {}, std::int64_t checkpoint = 1)
      : config_(std::move(config)) {
    config_.name = "small";
    const std::filesystem::path directory = target_ / "ckptsim";
    folder_ = directory / "small" / ("checkpoint_0" + std::to_string(checkpoint));
    std::filesystem::create_directories(folder_);
    test::write_text(directory / ".ckptsim-directory", "{\"schema\":\"ckptsim.target/1\"}\n");
    std::vector<storage::torch::FileDigest> digests;
    for (const storage::torch::FileSpec& file : files())
      digests.push_back(write(file, 1, checkpoint));
    const std::string head =
        manifest_head(config_, {.pass = 1, .warmup = false, .checkpoint = checkpoint, .content_pass = 1});
    write_manifest(seal_manifest(head, part, {ManifestFiles(0, files()).text(files(), digests)}));
  }

  // Writes a file as another pass, or another checkpoint, would.
  storage::torch::FileDigest write(const storage::torch::FileSpec& file, std::uint64_t pass,
                                   std::int64_t checkpoint) const {
    storage::torch::ArchiveStream stream(file, archive_options(config_), config_.content_seed, pass,
                                         static_cast<std::uint64_t>(checkpoint), content_settings(config_));
    std::string bytes(stream.file_bytes(), '\0');
    (void)stream.read(std::as_writable_bytes(std::span(bytes)));
    test::write_text(folder_ / file.name, bytes);
    return stream.digest();
  }

  [[nodiscard]] static std::vector<storage::torch::FileSpec> files() {
    using storage::torch::ScalarType;
    using storage::torch::TensorSpec;
    return {{"a.pt",
             {{"layer.weight", TensorSpec{ScalarType::kBFloat16, {90, 100}}},
              {"layer.bias", TensorSpec{ScalarType::kBFloat16, {33}}}}},
            {"b.pt",
             {{"layer.exp_avg_sq", TensorSpec{ScalarType::kFloat32, {2500}}},
              {"layer.state1", TensorSpec{ScalarType::kUInt8, {71, 70}}},
              {"iteration", std::int64_t{100000}},
              {"rng_state", std::string("philox:offset=1")}}},
            {"c.pt", {{"iteration", std::int64_t{100000}}, {"rng_state", std::string("philox:offset=1")}}}};
  }

  void write_manifest(const std::string& text) const { test::write_text(folder_ / "manifest.json", text); }
  [[nodiscard]] std::string manifest() const { return test::read_file(folder_ / "manifest.json"); }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::filesystem::path target() const { return target_.path(); }
  [[nodiscard]] const RunConfig& config() const { return config_; }

  // The result for the one checkpoint.
  [[nodiscard]] VerifyResult verified(std::size_t threads = 1) const {
    const auto communicator = make_serial_communicator();
    Progress progress;
    Interruption interruption;
    return verify(*communicator,
                  {.folders = {target_.path().string()}, .backend = "buffered", .threads = threads}, progress,
                  interruption);
  }

 private:
  test::TemporaryFolder target_;
  RunConfig config_;
  std::filesystem::path folder_;
};

}  // namespace ckptsim::simulator::testing
