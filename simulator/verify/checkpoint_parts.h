#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "simulator/run/manifest_reader.h"

namespace ckptsim::simulator {

// Which parts of checkpoints there are. Parts belong together where their manifests say the same of the
// checkpoint as a whole: a part that another run wrote, with another seed say, completes nothing.
class CheckpointParts {
 public:
  // The manifest of one part, found in `path`, the folder with this number.
  void add(std::size_t folder, const std::string& path, const Manifest& manifest);

  // Whether the folder has a manifest, and each of its manifests' checkpoints has all parts.
  [[nodiscard]] bool complete(std::size_t folder) const;

  // A sentence for each checkpoint that lacks parts; where the first of them is there, but as a part of
  // another checkpoint that lacks parts as well, it says where, and what is different.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  // name, checkpoint, pass, warmup, seed, kind, compressible and duplicate fraction, dialect, alignment,
  // parts
  using Head = std::tuple<std::string, std::int64_t, std::int64_t, bool, std::uint64_t, int, double, double,
                          int, std::uint64_t, std::uint64_t>;
  using Paths = std::map<std::uint64_t, std::string>;  // by part

  static Head head_of(const Manifest& manifest);
  static bool is_complete(const std::pair<const Head, Paths>& checkpoint);
  static std::string difference(const Head& found, const Head& wanted);
  [[nodiscard]] std::string strangers(const Head& head, std::uint64_t part) const;

  std::map<Head, Paths> parts_;
  std::multimap<std::size_t, Head> heads_;  // by folder
};

}  // namespace ckptsim::simulator
