#include "simulator/report/result_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "simulator/report/load_tables.h"
#include "simulator/report/result_json.h"
#include "simulator/report/table.h"
#include "storage/errors.h"
#include "storage/target/marked_directory.h"
#include "storage/uninterrupted.h"

namespace ckptsim::simulator {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, const fs::path& path) {
  throw std::system_error(errno, std::generic_category(), fmt::format("cannot {} {}", what, path.string()));
}

void write_all(int file, std::string_view text, const fs::path& path) {
  while (!text.empty()) {
    const ssize_t written = storage::uninterrupted([&] { return write(file, text.data(), text.size()); });
    if (written < 0) fail("write", path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void sync_folder(const fs::path& folder) {
  const int directory =
      storage::uninterrupted([&] { return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (directory < 0) fail("open", folder);
  const int outcome = fsync(directory);
  close(directory);
  if (outcome != 0) fail("fsync", folder);
}

// "NAME-20261130T173937Z", with "-2" and so on where two runs began in the same second.
fs::path make_unique_folder(const fs::path& output, const RunResult& run) {
  std::string stamp;
  for (const char c : run.started_utc) {
    if (c != '-' && c != ':') stamp += c;
  }
  fs::create_directories(output);
  const std::string name = fmt::format("{}-{}", run.config.name, stamp);
  fs::path folder = output / name;
  for (int attempt = 2; !fs::create_directory(folder); ++attempt)
    folder = output / fmt::format("{}-{}", name, attempt);
  return folder;
}

// There it would be foreign to the next run, which would then do nothing.
void refuse_inside_marked(const fs::path& output) {
  if (output.empty()) return;
  const fs::path marked = storage::MarkedDirectory::marked_folder_around(output);
  if (marked.empty()) return;
  throw storage::UnsuitableTarget(
      fmt::format("the result cannot go to \"{}\" inside {}, which is for checkpoints alone; name another "
                  "folder with --output",
                  output.string(), marked.string()));
}

}  // namespace

ResultFolder::~ResultFolder() {
  if (journal_ >= 0) close(journal_);
}

void ResultFolder::begin(const RunResult& run) {
  try {
    refuse_inside_marked(output_);
    path_ = make_unique_folder(output_, run);
  } catch (const fs::filesystem_error& error) {
    throw storage::UnsuitableTarget(
        fmt::format("cannot make a folder for the result in \"{}\": {}; name another with "
                    "--output",
                    output_.string(), error.code().message()));
  }
  write_file("journal.jsonl", journal_header(run) + "\n");
  sync_folder(output_);
  const fs::path path = path_ / "journal.jsonl";
  journal_ = storage::uninterrupted([&] { return open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC); });
  if (journal_ < 0) fail("open", path);
  journal_bytes_ = lseek(journal_, 0, SEEK_END);
  if (journal_bytes_ < 0) fail("find the end of", path);
  {
    const std::scoped_lock lock(kept_mutex_);
    kept_ = run;
  }
  const std::scoped_lock lock(result_mutex_);
  begun_ = true;
  if (!interruption_.empty()) write_interrupted(interruption_);
}

void ResultFolder::append(const std::string& line) {
  const fs::path path = path_ / "journal.jsonl";
  const std::string text = line + "\n";
  try {
    write_all(journal_, text, path);
    if (fsync(journal_) != 0) fail("fsync", path);
  } catch (const std::system_error&) {
    // Not durable is not finished: the line goes again, where that can still be done.
    (void)!ftruncate(journal_, journal_bytes_);
    throw;
  }
  journal_bytes_ += static_cast<off_t>(text.size());
}

void ResultFolder::checkpoint(const PassResult& pass) {
  const CheckpointResult& checkpoint = pass.checkpoints.back();
  append(journal_checkpoint(checkpoint));
  const std::scoped_lock lock(kept_mutex_);
  if (pass.checkpoints.size() == 1) {
    kept_.passes.push_back(pass);
    return;
  }
  kept_.passes.back().checkpoints.push_back(checkpoint);
  summarise_pass(kept_.passes.back());
}

void ResultFolder::load(std::int64_t pass, bool warmup, std::int64_t checkpoint, const LoadResult& load) {
  append(journal_load(pass, warmup, checkpoint, load));
  const std::scoped_lock lock(kept_mutex_);
  for (PassResult& kept : kept_.passes) {
    if (kept.pass != pass || kept.warmup != warmup) continue;
    for (CheckpointResult& one : kept.checkpoints) {
      if (one.checkpoint == checkpoint) one.load = load;
    }
    summarise_pass(kept);
  }
}

void ResultFolder::interrupted(const std::string& sentence) {
  const std::scoped_lock lock(result_mutex_);
  if (ended_) return;
  interruption_ = sentence;
  if (begun_) write_interrupted(sentence);
}

// The result first: whoever kills this process soon after the signal shall find it.
void ResultFolder::write_interrupted(const std::string& sentence) {
  RunResult run;
  {
    const std::scoped_lock lock(kept_mutex_);
    run = kept_;
  }
  run.status = "interrupted";
  run.failure = sentence;
  write_file("result.json", result_json(run));
  write_file("checkpoints.csv", checkpoints_csv(run));
}

void ResultFolder::end(const RunResult& run) {
  const std::scoped_lock lock(result_mutex_);
  ended_ = true;
  write_file("checkpoints.csv", checkpoints_csv(run));
  write_file("result.json", result_json(run));
}

// Under a temporary name first: whoever finds the file finds all of it.
void ResultFolder::write_file(const std::string& name, const std::string& text) const {
  const fs::path path = path_ / name;
  const fs::path temporary = path_ / (name + ".tmp");
  const int file = storage::uninterrupted(
      [&] { return open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); });
  if (file < 0) fail("create", temporary);
  try {
    write_all(file, text, temporary);
    if (fsync(file) != 0) fail("fsync", temporary);
  } catch (...) {
    close(file);
    unlink(temporary.c_str());
    throw;
  }
  if (close(file) != 0) fail("close", temporary);
  fs::rename(temporary, path);
  sync_folder(path_);
}

std::string checkpoints_csv(const RunResult& run) {
  Table table;
  table.columns = {
      {"pass"},          {"warmup"},     {"checkpoint"},     {"duration_s"}, {"throughput_gb_per_s"},
      {"payload_bytes"}, {"file_bytes"}, {"straggler_rank"}, {"skew"},       {"idle_share"},
      {"bound_by"}};
  for (const std::string_view phase : kPhaseNames)
    table.columns.push_back({fmt::format("{}_s", phase)});
  for (const std::string& column : load_columns())
    table.columns.push_back({column});
  for (const PassResult& pass : run.passes) {
    for (const CheckpointResult& checkpoint : pass.checkpoints) {
      const SaveResult& save = checkpoint.save;
      std::vector<std::string> row = {fmt::format("{}", checkpoint.pass),
                                      checkpoint.warmup ? "true" : "false",
                                      fmt::format("{}", checkpoint.checkpoint),
                                      fmt::format("{:.9f}", seconds(save.duration_ns)),
                                      fmt::format("{:.6f}", gb_per_s(save.file_bytes, save.duration_ns)),
                                      fmt::format("{}", save.payload_bytes),
                                      fmt::format("{}", save.file_bytes),
                                      fmt::format("{}", save.straggler_rank),
                                      fmt::format("{:.6f}", save.skew),
                                      fmt::format("{:.6f}", save.idle_share),
                                      std::string(bound_name(save.bound))};
      // The phases of the rank that decided the duration: they add up to it.
      for (std::size_t i = 0; i < kPhases; ++i) {
        std::int64_t phase_ns = 0;
        for (const RankSave& rank : save.ranks) {
          if (rank.rank == save.straggler_rank) phase_ns = rank.phase_ns[i];
        }
        row.push_back(fmt::format("{:.9f}", seconds(phase_ns)));
      }
      for (std::string& cell : load_cells(checkpoint.load))
        row.push_back(std::move(cell));
      table.rows.push_back(std::move(row));
    }
  }
  return render(table, TableFormat::kCsv);
}

}  // namespace ckptsim::simulator
