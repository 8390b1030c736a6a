#include "simulator/verify/file_verifier.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "simulator/verify/damage_words.h"
#include "simulator/verify/difference_finder.h"
#include "simulator/verify/file_reader.h"
#include "storage/drive/cached_file.h"
#include "storage/errors.h"
#include "storage/torch/archive_layout.h"
#include "storage/torch/archive_stream.h"

namespace ckptsim::simulator {
namespace {

namespace torch = storage::torch;

constexpr std::size_t kPieceBytes = std::size_t{256} * 1024;  // made and compared in the second-level cache
constexpr std::size_t kMostReadErrors = 4;                    // of a file, in detail

// A path that follows no link: the folder's own descriptor, and a name in it.
std::string path_in(const storage::Folder& folder, const std::string& name) {
  return fmt::format("/proc/self/fd/{}/{}", folder.descriptor.get(), name);
}

// The folder that the file is in, and the file's name there.
struct OpenedFolder {
  storage::Folder below;  // where the file is not directly in the checkpoint's folder
  std::string path;
};

OpenedFolder locate(const storage::Folder& checkpoint, const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return {{}, path_in(checkpoint, name)};
  OpenedFolder opened{storage::existing(storage::open_folder(checkpoint, name.substr(0, slash))), {}};
  opened.path = path_in(opened.below, name.substr(slash + 1));
  return opened;
}

// What stays of it; nothing of a file that cannot be opened, which reading it says.
std::optional<std::uint64_t> drop_cached_pages(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const storage::Descriptor file(open(path.c_str(), kFlags));
  if (!file.valid()) return 0;
  // Dirty pages cannot be dropped.
  constexpr unsigned kWriteBack =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  (void)sync_file_range(file.get(), 0, 0, kWriteBack);
  (void)posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  try {
    return storage::cached_bytes(path);
  } catch (const std::system_error&) {
    return std::nullopt;  // what cannot be counted is not known
  }
}

Finding finding(std::string kind, const ManifestFile& file, std::string words) {
  Finding result;
  result.kind = std::move(kind);
  result.file = file.name;
  result.words = std::move(words);
  return result;
}

// What is wrong with the manifest's own account of a file, if anything.
std::optional<std::string> layout_problem(const ManifestFile& file, const torch::ArchiveLayout& layout) {
  if (layout.file_bytes != file.file_bytes)
    return fmt::format("the manifest gives it {} bytes, its entries make {}", file.file_bytes,
                       layout.file_bytes);
  if (layout.records.size() != file.records.size())
    return fmt::format("the manifest lists {} records, its entries make {}", file.records.size(),
                       layout.records.size());
  for (std::size_t i = 0; i < file.records.size(); ++i) {
    const torch::RecordLayout& made = layout.records[i];
    const torch::RecordDigest& listed = file.records[i];
    if (listed.name == made.name && listed.payload_offset == made.payload_offset &&
        listed.bytes == made.entry.bytes)
      continue;
    return fmt::format(
        "the manifest lists record {} with {} bytes at {}, where its entries make {} with {} at {}",
        listed.name, listed.bytes, listed.payload_offset, made.name, made.entry.bytes, made.payload_offset);
  }
  return std::nullopt;
}

// One pass over a file: its bytes against those that it should have.
class Comparison {
 public:
  Comparison(const ManifestFile& file, const Manifest& manifest, const torch::ArchiveLayout& layout,
             std::vector<std::byte>& piece)
      : stream_(file.spec, manifest.archive, manifest.seed, manifest.content_pass,
                static_cast<std::uint64_t>(manifest.checkpoint), manifest.content),
        differences_(layout),
        piece_(piece),
        file_(file) {}

  void take(const ReadStretch& stretch) {
    if (stretch.error) note_error(stretch);
    std::uint64_t offset = stretch.offset;
    for (std::uint64_t left = stretch.asked; left > 0;) {
      const std::span<std::byte> expected =
          std::span(piece_).first(std::min<std::uint64_t>(left, piece_.size()));
      (void)stream_.read(expected);
      const std::uint64_t done = offset - stretch.offset;
      const std::uint64_t came = stretch.bytes.size() > done ? stretch.bytes.size() - done : 0;
      const std::size_t count = std::min<std::uint64_t>(expected.size(), came);
      if (count > 0) differences_.compare(offset, expected.first(count), stretch.bytes.subspan(done, count));
      offset += expected.size();
      left -= expected.size();
    }
  }

  // Of the file as it should be; none where the one that was found ended before. What is missing is not made:
  // a manifest can claim more bytes than anybody could wait for.
  [[nodiscard]] const torch::FileDigest* digest() const {
    return stream_.finished() ? &stream_.digest() : nullptr;
  }

  [[nodiscard]] const DifferenceFinder& differences() const { return differences_; }
  [[nodiscard]] std::vector<Finding>& errors() { return errors_; }
  [[nodiscard]] std::uint64_t unreadable_bytes() const { return unreadable_bytes_; }

 private:
  void note_error(const ReadStretch& stretch) {
    unreadable_bytes_ += stretch.asked;
    if (errors_.size() == kMostReadErrors) return;
    Finding error = finding("read_error", file_, fmt::format("cannot be read: {}", stretch.error.message()));
    error.offset = stretch.offset;
    error.bytes = stretch.asked;
    errors_.push_back(std::move(error));
  }

  torch::ArchiveStream stream_;
  DifferenceFinder differences_;
  std::vector<std::byte>& piece_;
  const ManifestFile& file_;
  std::vector<Finding> errors_;
  std::uint64_t unreadable_bytes_ = 0;
};

Finding of_open_error(const ManifestFile& file, const std::error_code& error) {
  const int code = error.value();
  if (code == ENOENT) return finding("missing", file, "is missing");
  if (code == ELOOP || code == EISDIR || code == EINVAL || code == ENXIO)
    return finding("not_a_file", file, "is a link, a folder or a device, not a file");
  return finding("read_error", file, fmt::format("cannot be opened: {}", error.message()));
}

}  // namespace

FileVerifier::FileVerifier(storage::Target& target, const storage::Folder& checkpoint,
                           const Manifest& manifest, bool drop_cache, std::atomic<std::uint64_t>& read_bytes,
                           const Interruption& interruption)
    : target_(target),
      checkpoint_(checkpoint),
      manifest_(manifest),
      drop_cache_(drop_cache),
      read_bytes_(read_bytes),
      interruption_(interruption),
      expected_(kPieceBytes) {}

FileOutcome FileVerifier::verify(const ManifestFile& file, std::uint64_t found_bytes) {
  FileOutcome outcome;
  torch::ArchiveLayout layout;
  try {
    layout = torch::lay_out_archive(file.spec, manifest_.archive);
  } catch (const std::invalid_argument& error) {
    outcome.findings.push_back(
        finding("layout", file, fmt::format("no file can hold the manifest's entries: {}", error.what())));
    return outcome;
  }
  if (auto problem = layout_problem(file, layout)) {
    outcome.findings.push_back(finding("layout", file, std::move(*problem)));
    return outcome;
  }
  OpenedFolder opened;
  try {
    opened = locate(checkpoint_, file.name);
  } catch (const storage::UnsuitableTarget&) {
    outcome.findings.push_back(finding("not_a_file", file, "is behind a link"));
    return outcome;
  } catch (const std::system_error& error) {
    outcome.findings.push_back(of_open_error(file, error.code()));
    return outcome;
  }
  if (drop_cache_) outcome.cached_bytes = drop_cached_pages(opened.path);

  Comparison comparison(file, manifest_, layout, expected_);
  const std::uint64_t bytes = std::min(found_bytes, layout.file_bytes);
  const std::error_code error =
      read_in_order(target_, opened.path, bytes, read_bytes_, [&](const ReadStretch& stretch) {
        comparison.take(stretch);
        return !interruption_.asked();
      });
  if (error) {
    outcome.findings.push_back(of_open_error(file, error));
    if (outcome.findings.back().is_read_error()) outcome.unreadable_bytes = file.file_bytes;
    return outcome;
  }
  if (interruption_.asked()) return outcome;
  outcome.findings = std::move(comparison.errors());
  outcome.unreadable_bytes = comparison.unreadable_bytes();
  const DamageReport report =
      describe_damage(file, layout, comparison.digest(), comparison.differences(), [&](auto&& consume) {
        std::atomic<std::uint64_t> not_counted{0};
        (void)read_in_order(target_, opened.path, bytes, not_counted, [&](const ReadStretch& stretch) {
          consume(stretch);
          return !interruption_.asked();
        });
      });
  outcome.findings.insert(outcome.findings.end(), report.findings.begin(), report.findings.end());
  outcome.more_ranges = report.more_ranges;
  outcome.wrong_bytes = report.wrong_bytes;
  return outcome;
}

}  // namespace ckptsim::simulator
