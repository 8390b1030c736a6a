#include "simulator/verify/checkpoint_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace ckptsim::simulator {
namespace {

// Of a checkpoint in many parts the first missing ones are named; a manifest may claim two thousand million.
constexpr std::size_t kMostNamed = 3;

enum Field {
  kName,
  kCheckpoint,
  kPass,
  kWarmup,
  kSeed,
  kKind,
  kCompressible,
  kDuplicate,
  kDialect,
  kAlignment
};
constexpr std::size_t kParts = kAlignment + 1;

std::string pass_words(bool warmup, std::int64_t pass) {
  return fmt::format("{} {}", warmup ? "warm-up" : "pass", pass);
}

std::vector<std::uint64_t> first_missing(const std::map<std::uint64_t, std::string>& there,
                                         std::uint64_t parts) {
  std::vector<std::uint64_t> missing;
  for (std::uint64_t part = 1; part <= parts && missing.size() < kMostNamed; ++part) {
    if (!there.contains(part)) missing.push_back(part);
  }
  return missing;
}

// "part 2 of 2 is", "parts 2, 3, 4 and 5 more of 9 are".
std::string parts_words(const std::vector<std::uint64_t>& named, std::uint64_t missing, std::uint64_t parts) {
  const std::uint64_t more = missing - named.size();
  return fmt::format("part{} {}{} of {} {}", missing == 1 ? "" : "s", fmt::join(named, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : std::string(), parts,
                     missing == 1 ? "is" : "are");
}

}  // namespace

CheckpointParts::Head CheckpointParts::head_of(const Manifest& manifest) {
  return {manifest.name,
          manifest.checkpoint,
          manifest.pass,
          manifest.warmup,
          manifest.seed,
          static_cast<int>(manifest.content.kind),
          manifest.content.compressible_fraction,
          manifest.content.duplicate_fraction,
          static_cast<int>(manifest.archive.dialect),
          manifest.archive.alignment_bytes,
          manifest.part.parts};
}

void CheckpointParts::add(std::size_t folder, const std::string& path, const Manifest& manifest) {
  const Head head = head_of(manifest);
  parts_[head].emplace(manifest.part.part, path);
  heads_.emplace(folder, head);
}

bool CheckpointParts::is_complete(const std::pair<const Head, Paths>& checkpoint) {
  return checkpoint.second.size() == std::get<kParts>(checkpoint.first);
}

bool CheckpointParts::complete(std::size_t folder) const {
  const auto [begin, end] = heads_.equal_range(folder);
  return begin != end && std::all_of(begin, end, [this](const auto& entry) {
           return is_complete(*parts_.find(entry.second));
         });
}

std::string CheckpointParts::difference(const Head& found, const Head& wanted) {
  if (std::get<kPass>(found) != std::get<kPass>(wanted) ||
      std::get<kWarmup>(found) != std::get<kWarmup>(wanted))
    return fmt::format("of {}", pass_words(std::get<kWarmup>(found), std::get<kPass>(found)));
  if (std::get<kSeed>(found) != std::get<kSeed>(wanted))
    return fmt::format("of a run with seed {}, not {}", std::get<kSeed>(found), std::get<kSeed>(wanted));
  if (std::get<kParts>(found) != std::get<kParts>(wanted))
    return fmt::format("of a run with {} parts", std::get<kParts>(found));
  if (std::get<kAlignment>(found) != std::get<kAlignment>(wanted))
    return fmt::format("of a run with alignment_bytes {}, not {}", std::get<kAlignment>(found),
                       std::get<kAlignment>(wanted));
  if (std::get<kDialect>(found) != std::get<kDialect>(wanted)) return "of a run with another torch_dialect";
  return "of a run with other content settings";
}

std::string CheckpointParts::strangers(const Head& head, std::uint64_t part) const {
  const auto is_same_place = [&head](const Head& other) {
    return std::get<kName>(other) == std::get<kName>(head) &&
           std::get<kCheckpoint>(other) == std::get<kCheckpoint>(head);
  };
  const Head first{std::get<kName>(head), std::get<kCheckpoint>(head), 0, false, 0, 0, 0, 0, 0, 0, 0};
  for (auto other = parts_.lower_bound(first); other != parts_.end() && is_same_place(other->first);
       ++other) {
    const auto found = other->second.find(part);
    if (found == other->second.end() || is_complete(*other)) continue;
    return fmt::format(" (that in {} is {})", found->second, difference(other->first, head));
  }
  return {};
}

std::vector<std::string> CheckpointParts::missing() const {
  std::vector<std::string> sentences;
  for (const auto& checkpoint : parts_) {
    const auto& [head, paths] = checkpoint;
    const std::uint64_t parts = std::get<kParts>(head);
    if (is_complete(checkpoint)) continue;
    const std::vector<std::uint64_t> named = first_missing(paths, parts);
    sentences.push_back(
        fmt::format("{}, {}, checkpoint {}: {} not in the folders named{}; name all targets of the run",
                    std::get<kName>(head), pass_words(std::get<kWarmup>(head), std::get<kPass>(head)),
                    std::get<kCheckpoint>(head), parts_words(named, parts - paths.size(), parts),
                    strangers(head, named.front())));
  }
  return sentences;
}

}  // namespace ckptsim::simulator
