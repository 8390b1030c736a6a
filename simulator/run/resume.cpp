#include "simulator/run/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "models/errors.h"
#include "models/invariant.h"
#include "simulator/engine/failure.h"
#include "simulator/run/manifest_reader.h"
#include "storage/call_listener.h"
#include "storage/errors.h"
#include "storage/target/marked_directory.h"

namespace ckptsim::simulator {
namespace {

namespace fs = std::filesystem;

// What `manifest` says of another checkpoint than `position`, in words; empty where it is that one's.
std::string difference(const Manifest& manifest, const RunConfig& config, const Position& position) {
  const Position is{manifest.pass, manifest.warmup, manifest.checkpoint};
  if (manifest.name != config.name) return fmt::format("it is of the run \"{}\"", manifest.name);
  if (is != position) return fmt::format("it is of {}", position_words(is));
  if (manifest.seed != config.content_seed) return fmt::format("its seed is {}", manifest.seed);
  return {};
}

std::string text_of(const fs::path& path) {
  storage::CallListener::tell("reading", path);
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || file.bad()) {
    throw storage::UnsuitableTarget(fmt::format("{} cannot be read", path.string()));
  }
  return text;
}

void require_files(const Manifest& manifest, const fs::path& folder) {
  for (const ManifestFile& file : manifest.files) {
    storage::CallListener::tell("looking at", folder / file.name);
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(folder / file.name, error);
    if (!error && bytes == file.file_bytes) continue;
    throw storage::UnsuitableTarget(
        fmt::format("{} {}", (folder / file.name).string(),
                    error ? fmt::format("cannot be found: {}", error.message())
                          : fmt::format("has {} bytes instead of {}", bytes, file.file_bytes)));
  }
}

void require_checkpoint(const fs::path& folder, const std::string& manifest_name, const RunConfig& config,
                        const Position& position) {
  const fs::path path = folder / manifest_name;
  if (!fs::exists(path)) {
    throw storage::UnsuitableTarget(fmt::format("{} is not there", path.string()));
  }
  const Manifest manifest = read_manifest(text_of(path), path.string());
  const std::string other = difference(manifest, config, position);
  if (!other.empty()) throw storage::UnsuitableTarget(fmt::format("{}: {}", path.string(), other));
  require_files(manifest, folder);
}

fs::path folder_of(const std::string& target, const RunConfig& config, const Position& position) {
  return storage::MarkedDirectory::checkpoint_path(target, config.name,
                                                   static_cast<int>(position.checkpoint));
}

bool is_of(const fs::path& path, const RunConfig& config, const Position& position) {
  if (!fs::exists(path)) return false;
  try {
    return difference(read_manifest(text_of(path), path.string()), config, position).empty();
  } catch (const storage::FormatError&) {
    return false;  // a manifest that is not whole vouches for nothing, as if it were not there
  }
}

template <typename Value>
void require_same(const char* what, const Value& earlier, const Value& now) {
  if (earlier == now) return;
  throw ConfigError("", fmt::format("{} was {} when the run began and is {} now; a resumed run goes on as it "
                                    "began, or is begun anew without --resume",
                                    what, earlier, now));
}

std::string word(bool value) {
  return value ? "true" : "false";
}

}  // namespace

bool is_complete(const Resume& resume, const CheckpointConfig& config) {
  const std::uint64_t all = checkpoints_of(config, resume.checkpoints_per_pass);
  return resume.finished == all && resume.loaded == loads_of(config, all, resume.checkpoints_per_pass);
}

ResumePlan plan_resume(const Resume& resume, const CheckpointConfig& config) {
  require(!is_complete(resume, config), "a complete run is not resumed");
  const auto at = [&](std::uint64_t ordinal) {
    return position_of(ordinal, config, resume.checkpoints_per_pass);
  };
  const auto per_pass = static_cast<std::uint64_t>(resume.checkpoints_per_pass);
  const std::uint64_t finished = resume.finished;
  const std::uint64_t all = checkpoints_of(config, resume.checkpoints_per_pass);
  ResumePlan plan{.is_new = finished == 0};
  if (finished == all) {  // only reading back is left
    for (std::uint64_t ordinal = all - per_pass; ordinal < all; ++ordinal)
      plan.present.push_back(at(ordinal));
    plan.next = config.load == "end" ? at(all - per_pass + resume.loaded) : at(all - 1);
    return plan;
  }
  plan.next = at(finished);
  const std::uint64_t in_pass = finished % per_pass;  // that are finished of the pass that it goes on in
  const std::uint64_t pass_begin = finished - in_pass;
  for (std::uint64_t ordinal = pass_begin; ordinal < finished; ++ordinal)
    plan.present.push_back(at(ordinal));
  if (pass_begin == 0 || config.between_passes == "delete") {
    plan.removes_files = in_pass > 0;  // at a pass's begin everything goes anyway
  } else {
    plan.replaces = at(finished - per_pass);
    for (std::uint64_t ordinal = finished + 1 - per_pass; ordinal < pass_begin; ++ordinal)
      plan.present.push_back(at(ordinal));
  }
  const bool reads_last = resume.loaded < loads_of(config, finished, resume.checkpoints_per_pass);
  if (reads_last && in_pass == 0) {
    const Position last = at(finished - 1);
    if (std::find(plan.present.begin(), plan.present.end(), last) == plan.present.end())
      plan.present.push_back(last);
  }
  if (reads_last) plan.next = at(finished - 1);
  return plan;
}

void require_present(Workspace& workspace, const RunConfig& config, const ResumePlan& plan) {
  workspace.for_each_led(ExitCode::kUnsuitable, [&](const std::string& target, const std::string& manifest) {
    for (const Position& position : plan.present) {
      try {
        require_checkpoint(folder_of(target, config, position), manifest, config, position);
      } catch (const std::exception& error) {
        if (dynamic_cast<const storage::UnsuitableTarget*>(&error) == nullptr &&
            dynamic_cast<const storage::FormatError*>(&error) == nullptr) {
          throw;
        }
        throw storage::UnsuitableTarget(fmt::format(
            "the journal says that {} is finished, but {}; the run cannot go on from there, begin "
            "it anew without --resume",
            position_words(position), error.what()));
      }
    }
  });
}

bool is_redone(Communicator& communicator, Workspace& workspace, const RunConfig& config,
               const ResumePlan& plan) {
  if (!plan.replaces.has_value()) return false;
  bool begun = false;
  workspace.for_each_led(ExitCode::kUnsuitable, [&](const std::string& target, const std::string& manifest) {
    const Position& before = *plan.replaces;
    begun = begun || !is_of(folder_of(target, config, before) / manifest, config, before);
  });
  return communicator.any(begun);
}

void require_same_choices(const RunResult& earlier, const RunResult& now) {
  const EffectiveSettings& a = earlier.effective;
  const EffectiveSettings& b = now.effective;
  require_same("the backend that storage.backend comes to", a.backend, b.backend);
  require_same("direct I/O", word(a.direct_io), word(b.direct_io));
  require_same("whether buffers are registered (storage.registered_buffers)", word(a.registered_buffers),
               word(b.registered_buffers));
  require_same("the serializer", a.serializer, b.serializer);
  require_same("the version of LibTorch", a.libtorch_version, b.libtorch_version);
  require_same("the dialect that storage.torch_dialect comes to", a.torch_dialect, b.torch_dialect);
  require_same("the number of targets", earlier.environment.targets.size(), now.environment.targets.size());
  for (std::size_t i = 0; i < earlier.environment.targets.size(); ++i) {
    require_same("the path of a target", earlier.environment.targets[i].path,
                 now.environment.targets[i].path);
  }
}

}  // namespace ckptsim::simulator
