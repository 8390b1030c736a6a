// Hands every file below the named folders to check(), and says how many there were. Fails where one makes
// check() fail, and where there are none, or none that the reader takes: a corpus of refusals alone proves
// nothing.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/check.h"

namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  int taken = 0;
  for (const auto& file : files) {
    const std::string content = content_of(file);
    try {
      taken += ckptsim::fuzz::check_within_memory(std::as_bytes(std::span(content))) ? 1 : 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", file.c_str(), error.what());
      return 1;
    }
  }
  std::printf("%zu files, of which %d were taken\n", files.size(), taken);
  return taken > 0 ? 0 : 1;
}
