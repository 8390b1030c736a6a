#include "simulator/report/content_words.h"

#include <fmt/format.h>

namespace ckptsim::simulator {

bool has_shrinkable_content(const RunConfig& config) {
  return config.content_kind != "random" || config.content_compressible_fraction > 0 ||
         config.content_duplicate_fraction > 0;
}

std::string content_words(const RunConfig& config) {
  if (!has_shrinkable_content(config)) return "";
  const double compressible = config.content_compressible_fraction;
  const double duplicate = config.content_duplicate_fraction;
  const bool weights = config.content_kind == "weights";
  std::string text = fmt::format("Content: {}", config.content_kind);
  if (compressible > 0) {
    text += fmt::format(", {:.4g} % compressible", 100 * compressible);
  } else if (weights) {
    text += ", as compressible as they are";
  }
  if (duplicate > 0) text += fmt::format(", {:.4g} % of the 4 KiB blocks duplicates", 100 * duplicate);
  return text + ".\n";
}

}  // namespace ckptsim::simulator
