#include "simulator/verify/manifest_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "storage/errors.h"
#include "storage/target/checkpoint_removal.h"

namespace ckptsim::simulator {
namespace {

// A hundred thousand ranks' files and their records.
constexpr std::size_t kLargestManifestBytes = std::size_t{4} << 30U;

std::string kind_of(const struct stat& facts) {
  if (S_ISLNK(facts.st_mode)) return "a link";
  if (S_ISDIR(facts.st_mode)) return "a folder";
  if (S_ISFIFO(facts.st_mode)) return "a FIFO";
  return "a device or a socket";
}

Finding size_finding(const ManifestFile& file, std::uint64_t found) {
  Finding finding;
  finding.file = file.name;
  finding.offset = std::min(found, file.file_bytes);
  finding.bytes = std::max(found, file.file_bytes) - finding.offset;
  finding.wrong_bytes = finding.bytes;
  finding.kind = found < file.file_bytes ? "too_short" : "too_long";
  finding.words = fmt::format("are {}: the file has {} bytes and the manifest says {}{}",
                              found < file.file_bytes ? "missing" : "too many", found, file.file_bytes,
                              found < file.file_bytes ? ", so that its CRCs cannot be worked out" : "");
  return finding;
}

Finding plain(std::string kind, std::string file, std::string words) {
  Finding finding;
  finding.kind = std::move(kind);
  finding.file = std::move(file);
  finding.words = std::move(words);
  return finding;
}

}  // namespace

std::string read_manifest_text(const storage::Folder& checkpoint, const std::string& manifest) {
  const std::filesystem::path path = checkpoint.path / manifest;
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  const storage::Descriptor file(openat(checkpoint.descriptor.get(), manifest.c_str(), kFlags));
  if (!file.valid() && (errno == ELOOP || errno == ENXIO))
    throw storage::FormatError(fmt::format("{}: is a link or a socket, not a file", path.string()));
  if (!file.valid()) storage::throw_last_error("open", path);
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0) storage::throw_last_error("examine", path);
  if (!S_ISREG(facts.st_mode))
    throw storage::FormatError(fmt::format("{}: is {}, not a file", path.string(), kind_of(facts)));
  (void)posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);  // what the drive has is what is read
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t count = read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) storage::throw_last_error("read", path);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kLargestManifestBytes)
      throw storage::FormatError(fmt::format("{}: is larger than any manifest", path.string()));
  }
}

std::optional<Finding> misplaced(const FoundCheckpoint& checkpoint, const std::string& manifest,
                                 const Manifest& contents) {
  if (!storage::is_checkpoint_folder_name(checkpoint.folder)) return std::nullopt;  // a copy, renamed
  const std::string own = storage::checkpoint_folder_name(static_cast<int>(contents.checkpoint));
  if (own != checkpoint.folder)
    return plain("manifest", manifest, fmt::format("is that of {} and lies in {}", own, checkpoint.folder));
  if (!checkpoint.run.empty() && checkpoint.run != contents.name)
    return plain("manifest", manifest,
                 fmt::format("is of the run {} and lies in the folder of {}", contents.name, checkpoint.run));
  return std::nullopt;
}

ListingCheck check_listing(const Manifest& manifest, const std::map<std::string, struct stat>& listing) {
  ListingCheck check;
  for (const ManifestFile& file : manifest.files) {
    check.found_bytes.emplace_back();
    const auto found = listing.find(file.name);
    if (found == listing.end()) {
      check.findings.push_back(plain("missing", file.name, "is missing"));
      check.findings.back().wrong_bytes = file.file_bytes;
    } else if (!S_ISREG(found->second.st_mode)) {
      check.findings.push_back(
          plain("not_a_file", file.name, fmt::format("is {}, not a file", kind_of(found->second))));
      check.findings.back().wrong_bytes = file.file_bytes;
    } else {
      const auto bytes = static_cast<std::uint64_t>(found->second.st_size);
      if (bytes != file.file_bytes) check.findings.push_back(size_finding(file, bytes));
      check.found_bytes.back() = bytes;
    }
  }
  return check;
}

std::vector<Finding> unlisted(const std::vector<Manifest>& contents,
                              const std::vector<std::string>& manifests,
                              const std::map<std::string, struct stat>& listing) {
  std::set<std::string> known(manifests.begin(), manifests.end());
  for (const Manifest& manifest : contents) {
    for (const ManifestFile& file : manifest.files)
      known.insert(file.name);
  }
  std::vector<Finding> findings;
  for (const auto& [name, facts] : listing) {
    if (known.contains(name)) continue;
    findings.push_back(plain("unlisted", name,
                             fmt::format("is {}, and the manifest does not list it",
                                         S_ISREG(facts.st_mode) ? "here" : kind_of(facts))));
  }
  return findings;
}

}  // namespace ckptsim::simulator
