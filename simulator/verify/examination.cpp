#include "simulator/verify/examination.h"

#include <fmt/format.h>

#include <map>
#include <system_error>
#include <utility>

#include "simulator/communicator/packing.h"
#include "simulator/verify/manifest_files.h"
#include "storage/drive/direct_read_probe.h"
#include "storage/errors.h"

namespace ckptsim::simulator {
namespace {

Finding of_error(const std::string& kind, const std::string& file, const std::string& words) {
  Finding finding;
  finding.kind = kind;
  finding.file = file;
  finding.words = words;
  return finding;
}

// "PATH: WORDS" of an exception, without the path that the finding names anyway.
std::string without(const std::string& origin, const std::string& what) {
  return what.starts_with(origin + ": ") ? what.substr(origin.size() + 2) : what;
}

void take_manifest(Examination& examination, const storage::Folder& folder, const std::string& name) {
  const std::string origin = (folder.path / name).string();
  try {
    std::string text = read_manifest_text(folder, name);
    Manifest manifest = read_manifest(text, origin);
    if (auto finding = misplaced(examination.found, name, manifest))
      examination.findings.push_back(std::move(*finding));
    examination.manifest_texts.push_back(std::move(text));
    examination.manifests.push_back(std::move(manifest));
  } catch (const storage::FormatError& error) {
    examination.findings.push_back(of_error("manifest", name, without(origin, error.what())));
  } catch (const std::system_error& error) {
    examination.findings.push_back(of_error("read_error", name, error.what()));
  }
}

// The path of the first file with anything to read; empty where there is none.
std::string first_file(const Examination& examination, const storage::Folder& folder) {
  std::size_t index = 0;
  for (const Manifest& manifest : examination.manifests) {
    for (const ManifestFile& file : manifest.files) {
      if (examination.found_bytes[index++].value_or(0) > 0 && file.name.find('/') == std::string::npos)
        return fmt::format("/proc/self/fd/{}/{}", folder.descriptor.get(), file.name);
    }
  }
  return {};
}

void choose_reading(Examination& examination, const storage::Folder& folder, const BackendChoice& choice,
                    const std::string& asked) {
  examination.backend = choice.backend;
  examination.backend_reason = choice.reason;
  if (!choice.direct_io()) return;
  storage::DirectReadFacts facts{.io_alignment = 4096, .reason = ""};
  if (const std::string file = first_file(examination, folder); !file.empty()) {
    try {
      facts = storage::probe_direct_read(file);
    } catch (const std::system_error&) {
      // Reading the file comes to the same error, and says where.
    }
  }
  examination.io_alignment = facts.io_alignment;
  examination.page_cache_seen = facts.cache_seen;
  if (facts.io_alignment > 0) return;
  if (asked != "auto") {
    throw storage::UnsuitableTarget(
        fmt::format("{} cannot be read past the page cache: {}; use --backend buffered",
                    examination.found.path(), facts.reason));
  }
  examination.backend = storage::Backend::kBuffered;
  examination.backend_reason = fmt::format("auto: {}", facts.reason);
  examination.io_alignment = 1;
}

}  // namespace

Examination examine(const FoundCheckpoint& checkpoint, const BackendChoice& choice,
                    const std::string& asked_backend) {
  Examination examination;
  examination.found = checkpoint;
  try {
    const storage::Folder folder = open_checkpoint(checkpoint);
    const std::map<std::string, struct stat> listing = list_checkpoint(folder);
    for (const std::string& name : checkpoint.manifests)
      take_manifest(examination, folder, name);
    for (const Manifest& manifest : examination.manifests) {
      ListingCheck check = check_listing(manifest, listing);
      examination.findings.insert(examination.findings.end(), check.findings.begin(), check.findings.end());
      examination.found_bytes.insert(examination.found_bytes.end(), check.found_bytes.begin(),
                                     check.found_bytes.end());
    }
    // Of a manifest that cannot be taken, nobody knows what it lists.
    if (examination.manifests.size() == checkpoint.manifests.size()) {
      for (Finding& finding : unlisted(examination.manifests, checkpoint.manifests, listing))
        examination.findings.push_back(std::move(finding));
    }
    choose_reading(examination, folder, choice, asked_backend);
  } catch (const std::system_error& error) {
    examination.findings.push_back(of_error("read_error", ".", error.what()));
    examination.manifests.clear();
    examination.manifest_texts.clear();
    examination.found_bytes.clear();
  }
  return examination;
}

std::string examination_to_text(const Examination& examination) {
  std::vector<std::string> sizes;
  for (const std::optional<std::uint64_t>& bytes : examination.found_bytes)
    sizes.push_back(bytes ? std::to_string(*bytes) : "");
  return pack({examination.found.root, pack(examination.found.folders), pack(examination.manifest_texts),
               pack(sizes), std::to_string(static_cast<int>(examination.backend)),
               std::to_string(examination.io_alignment)});
}

Examination examination_from_text(const std::string& text) {
  const std::vector<std::string> field = unpack(text);
  Examination examination;
  examination.found.root = field.at(0);
  examination.found.folders = unpack(field.at(1));
  examination.manifest_texts = unpack(field.at(2));
  for (const std::string& manifest : examination.manifest_texts)
    examination.manifests.push_back(read_manifest(manifest, examination.found.path()));
  for (const std::string& size : unpack(field.at(3)))
    examination.found_bytes.push_back(size.empty() ? std::nullopt : std::optional(std::stoull(size)));
  examination.backend = static_cast<storage::Backend>(std::stoi(field.at(4)));
  examination.io_alignment = std::stoull(field.at(5));
  return examination;
}

}  // namespace ckptsim::simulator
