#include "simulator/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "models/training_state.h"
#include "parallelism/checkpoint_files.h"
#include "parallelism/topology.h"
#include "simulator/plan/content_settings.h"
#include "storage/torch/archive_stream.h"

namespace ckptsim::simulator {
namespace {

namespace torch = storage::torch;

parallelism::Topology topology_of(const RunConfig& config) {
  return {.tensor = config.parallelism.tensor,
          .pipeline = config.parallelism.pipeline,
          .data = config.parallelism.data,
          .zero_stage = config.parallelism.zero_stage};
}

torch::ScalarType scalar_type(models::Dtype dtype) {
  switch (dtype) {
    case models::Dtype::kBFloat16:
      return torch::ScalarType::kBFloat16;
    case models::Dtype::kFloat32:
      return torch::ScalarType::kFloat32;
    case models::Dtype::kUInt8:
      return torch::ScalarType::kUInt8;
  }
  throw ConfigError("/training_state", "the training state has an element type that torch files cannot hold");
}

std::vector<parallelism::CheckpointFile> checkpoint_files(const RunConfig& config, std::int64_t rank) {
  return parallelism::files_of_rank(config.model, models::training_state(config.training_state),
                                    topology_of(config), config.checkpoint.layout, config.scale, rank);
}

// The last entries of a file that carries the run's state. Of one length whatever the rank and the iteration,
// so that sizes are known before the run.
constexpr std::size_t kRunStateEntries = 2;
constexpr const char* kIterationEntry = "iteration";

std::array<torch::Entry, kRunStateEntries> run_state(std::int64_t rank, std::int64_t iteration) {
  return {torch::Entry{kIterationEntry, iteration},
          torch::Entry{"rng_state", fmt::format("philox:offset={:020}:subsequence={:010}", iteration, rank)}};
}

torch::FileSpec file_spec(const parallelism::CheckpointFile& file, std::int64_t rank,
                          std::int64_t iteration) {
  torch::FileSpec spec;
  spec.name = file.name;
  spec.entries.reserve(file.tensors.size() + kRunStateEntries);
  for (const parallelism::FileTensor& tensor : file.tensors) {
    spec.entries.push_back({tensor.name, torch::TensorSpec{scalar_type(tensor.dtype), tensor.shape}});
  }
  if (file.run_state) {
    for (torch::Entry& entry : run_state(rank, iteration))
      spec.entries.push_back(std::move(entry));
  }
  return spec;
}

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Sums of sizes that passed the checks of one file can still overflow over a hundred thousand ranks.
std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || sum > static_cast<std::uint64_t>(INT64_MAX)) {
    throw ConfigError("/model",
                      "a checkpoint of this model passes 2^63 - 1 bytes; choose a smaller model or scale");
  }
  return sum;
}

// Sizes of a rank's files follow from what it holds and from how long their names are, so that ranks that
// differ in neither are worked out once: a hundred thousand data-parallel ranks are a handful of different
// ones.
class RankPlanner {
 public:
  RankPlanner(const RunConfig& config, const parallelism::Topology& topology)
      : config_(config), topology_(topology) {}

  [[nodiscard]] RankPlan plan(std::int64_t rank) {
    const parallelism::RankCoordinates at = parallelism::coordinates_of(topology_, rank);
    const Kind kind{at.pipeline, digits(at.tensor), digits(at.model_parallel), digits(at.data), at.data == 0};
    const auto [known, is_new] = known_.try_emplace(kind);
    if (is_new) known->second = work_out(rank);
    RankPlan plan = known->second;
    plan.rank = rank;
    plan.tensor = at.tensor;
    plan.pipeline = at.pipeline;
    plan.data = at.data;
    return plan;
  }

 private:
  using Kind = std::tuple<std::int64_t, std::size_t, std::size_t, std::size_t, bool>;

  [[nodiscard]] static std::size_t digits(std::int64_t number) { return std::to_string(number).size(); }

  [[nodiscard]] RankPlan work_out(std::int64_t rank) const {
    RankPlan plan;
    for (const FilePlan& file : file_plans(config_, rank)) {
      plan.payload_bytes = add(plan.payload_bytes, file.payload_bytes);
      plan.file_bytes = add(plan.file_bytes, file.file_bytes);
      plan.disk_bytes = add(plan.disk_bytes, round_up(file.file_bytes, kDiskBlockBytes));
      plan.largest_file_bytes = std::max(plan.largest_file_bytes, file.file_bytes);
      plan.manifest_bytes = add(plan.manifest_bytes, file.manifest_bytes);
      ++plan.files;
    }
    return plan;
  }

  const RunConfig& config_;
  const parallelism::Topology& topology_;
  std::map<Kind, RankPlan> known_;
};

// A record's member names and punctuation, two numbers of 20 digits, a CRC and the longest of the names.
constexpr std::uint64_t kManifestRecordBytes = 128;
constexpr std::uint64_t kManifestFileBytes = 160;   // the same for a file, but for its name
constexpr std::uint64_t kRecordsBesideEntries = 7;  // pickle, version and the like

std::uint64_t manifest_entry_bytes(const torch::FileSpec& spec) {
  return kManifestFileBytes + spec.name.size() +
         (spec.entries.size() + kRecordsBesideEntries) * kManifestRecordBytes;
}

}  // namespace

RunPlan make_plan(const RunConfig& config) {
  const parallelism::Topology topology = topology_of(config);
  parallelism::check(topology, config.model);
  RunPlan plan;
  plan.parameters = models::parameter_count(config.model);
  RankPlanner planner(config, topology);
  plan.ranks.reserve(static_cast<std::size_t>(topology.ranks()));
  for (std::int64_t rank = 0; rank < topology.ranks(); ++rank) {
    const RankPlan& of_rank = plan.ranks.emplace_back(planner.plan(rank));
    plan.payload_bytes = add(plan.payload_bytes, of_rank.payload_bytes);
    plan.file_bytes = add(plan.file_bytes, of_rank.file_bytes);
    plan.disk_bytes = add(plan.disk_bytes, of_rank.disk_bytes);
    plan.files += of_rank.files;
  }
  check_duplicates(config, plan.payload_bytes);
  return plan;
}

std::vector<FilePlan> file_plans(const RunConfig& config, std::int64_t rank) {
  const torch::ArchiveOptions options = archive_options(config);
  std::vector<FilePlan> plans;
  for (const parallelism::CheckpointFile& file : checkpoint_files(config, rank)) {
    const auto payload = static_cast<std::uint64_t>(parallelism::payload_bytes(file));
    const torch::FileSpec spec = file_spec(file, rank, iteration_of(0));
    plans.push_back({.name = file.name,
                     .payload_bytes = payload,
                     .file_bytes = torch::archive_bytes(spec, options),
                     .manifest_bytes = manifest_entry_bytes(spec)});
  }
  return plans;
}

std::vector<torch::FileSpec> file_specs(const RunConfig& config, std::int64_t rank, std::int64_t iteration) {
  std::vector<torch::FileSpec> specs;
  for (const parallelism::CheckpointFile& file : checkpoint_files(config, rank)) {
    specs.push_back(file_spec(file, rank, iteration));
  }
  return specs;
}

void set_iteration(std::vector<torch::FileSpec>& specs, std::int64_t rank, std::int64_t iteration) {
  for (torch::FileSpec& spec : specs) {
    if (spec.entries.size() < kRunStateEntries) continue;
    const auto state = spec.entries.end() - kRunStateEntries;
    if (state->key != kIterationEntry) continue;
    auto fresh = run_state(rank, iteration);
    std::move(fresh.begin(), fresh.end(), state);
  }
}

std::int64_t iteration_of(std::uint64_t ordinal) {
  // From here to 2^31 a pickled integer has one width. Two thousand million checkpoints are not a run.
  constexpr std::int64_t kFirst = 100'000;
  constexpr std::int64_t kStep = 1'000;
  return kFirst + kStep * static_cast<std::int64_t>(ordinal % 2'000'000);
}

std::uint64_t content_pass(std::int64_t pass, bool warmup) {
  constexpr std::uint64_t kFirstWarmup = 1'000'000;  // more passes than a configuration may ask for
  return static_cast<std::uint64_t>(pass) + (warmup ? kFirstWarmup : 0);
}

torch::ArchiveOptions archive_options(const RunConfig& config) {
  return {
      .dialect = effective_dialect(config) == "1.13" ? torch::Dialect::kTorch113 : torch::Dialect::kCurrent,
      .alignment_bytes = config.storage.alignment_bytes};
}

std::string effective_dialect(const RunConfig& config) {
  if (config.storage.torch_dialect != "auto") return config.storage.torch_dialect;
  return config.storage.serializer == "libtorch" ? kLibtorchDialect : "current";
}

}  // namespace ckptsim::simulator
