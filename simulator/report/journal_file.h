#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace ckptsim::simulator {

// A run's journal, to be written by one process at a time: it holds flock(2) on the file. Lines are durable
// when append() returns. Throws std::system_error with the path. One thread.
class JournalFile {
 public:
  JournalFile() = default;
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  // A file that is there already, and durable. storage::UnsuitableTarget where another process writes it.
  void open(const std::filesystem::path& path);

  [[nodiscard]] std::string text() const;

  // Cuts off what follows the first `bytes`: a line that was not finished.
  void cut(std::size_t bytes);

  void append(const std::string& lines);  // each with its line feed

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace ckptsim::simulator
