#include "parallelism/checkpoint_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "models/checked_arithmetic.h"
#include "models/errors.h"
#include "parallelism/deepspeed_layout.h"
#include "parallelism/rank_shards.h"
#include "parallelism/sharding.h"

namespace ckptsim::parallelism {
namespace {

// How a rank's shards become files: a layout is a row.
struct Layout {
  std::string_view name;
  decltype(&deepspeed_files) files = nullptr;
};
constexpr std::array<Layout, 1> kLayouts{{{"deepspeed", &deepspeed_files}}};

std::string known_names() {
  std::string names;
  for (const Layout& layout : kLayouts) {
    names += names.empty() ? "" : ", ";
    names += layout.name;
  }
  return names;
}

const Layout& layout_named(std::string_view name) {
  const auto* const found = std::find_if(kLayouts.begin(), kLayouts.end(),
                                         [name](const Layout& layout) { return layout.name == name; });
  if (found == kLayouts.end()) {
    throw ConfigError(
        "/checkpoint/layout",
        fmt::format("checkpoint.layout: '{}' is unknown; choose one of: {}", name, known_names()));
  }
  return *found;
}

}  // namespace

std::vector<std::string_view> layout_names() {
  std::vector<std::string_view> names;
  names.reserve(std::size(kLayouts));
  for (const Layout& layout : kLayouts)
    names.push_back(layout.name);
  return names;
}

std::vector<CheckpointFile> files_of_rank(const models::Transformer& model,
                                          const models::TrainingState& state, const Topology& topology,
                                          std::string_view layout, double scale, std::int64_t rank) {
  const Layout& chosen = layout_named(layout);
  check(topology, model);
  const RankCoordinates at = coordinates_of(topology, rank);
  return chosen.files(shards_of_rank(model, topology, scale, at), state, topology, at);
}

std::int64_t payload_bytes(const CheckpointFile& file) {
  std::int64_t bytes = 0;
  for (const FileTensor& tensor : file.tensors) {
    bytes = models::checked_sum(
        bytes, models::checked_product(element_count(tensor.shape), models::size_bytes(tensor.dtype)));
  }
  return bytes;
}

}  // namespace ckptsim::parallelism
