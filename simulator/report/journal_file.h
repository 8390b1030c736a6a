#pragma once

#include <sys/types.h>

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

  // Each with its line feed. What cannot be made durable is cut off again, where that can be done.
  void append(const std::string& lines);

 private:
  std::filesystem::path path_;
  int file_ = -1;
  off_t bytes_ = 0;  // whose lines are durable
};

}  // namespace ckptsim::simulator
